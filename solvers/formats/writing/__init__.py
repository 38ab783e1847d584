"""Write problems to files, and return how the two objectives are related."""
