"""CelebA: faces with attributes, from the official files, decoded once.

Private to `data`; stands on `files` and the small files of the root.
"""
