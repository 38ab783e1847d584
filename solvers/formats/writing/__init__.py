"""Write problems to files, and say how the objectives are related."""
