"""Search for good states without a certificate, and for the states that exact searches start from.

This package may use elimination, exhaustive, max_flow and precision. The exact searches, presolve
and backends may import it.
"""
