"""Check what a caller passes to a space: scores, targets and arcs."""
