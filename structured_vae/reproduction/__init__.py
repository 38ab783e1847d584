"""The experiments of the paper and beyond it: cells, their runner, and the report.

This package imports runs; only the commands import this package.
"""
