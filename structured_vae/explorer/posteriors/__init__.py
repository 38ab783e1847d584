"""The distribution of the states of one image with some fixed bits, one file for each form."""
