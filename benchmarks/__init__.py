"""Measurements that write the records in `results/`; each module says how to run it."""
