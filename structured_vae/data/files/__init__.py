"""Where files of datasets come from: roots, official sources, downloads, the IDX format.

Private to `data`; stands on the small files of the root alone.
"""
