"""The command `solve`: files read, batches solved in chunks, answers written.

Loads no torch; the list of commands alone imports it.
"""
