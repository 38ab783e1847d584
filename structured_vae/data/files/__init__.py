"""Files of datasets: roots, official sources, downloads, the IDX format.

Private to `data` and to the script that makes the embedded images. Imports only the small modules
of the root.
"""
