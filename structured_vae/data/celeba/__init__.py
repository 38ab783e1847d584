"""CelebA: faces with attributes, from the official files, decoded once.

Private to `data`; imports `files`, `reader` and the small modules of the root.
"""
