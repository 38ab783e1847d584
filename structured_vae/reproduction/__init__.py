"""The experiments of the paper, and those that go past it: cells, their runner, and the report.

Stands on runs; the commands alone import it.
"""
