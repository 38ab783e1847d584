"""Local search and cheap bounds among the states that satisfy linear constraints, for backends that build a model."""
