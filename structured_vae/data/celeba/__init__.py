"""CelebA: faces with attributes, from the official files, decoded once.

Private to `data`; stands on `files`, on what a reader gives, and on the small files of the root.
"""
