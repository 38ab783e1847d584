"""The command `solve`: files read, batches solved in chunks, answers written."""
