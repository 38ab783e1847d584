"""Search locally, and bound the score, among states that satisfy linear constraints."""
