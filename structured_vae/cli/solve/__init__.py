"""The command `solve`: it reads files, solves batches in chunks, and writes the answers.

It does not load torch, and only the list of commands imports it.
"""
