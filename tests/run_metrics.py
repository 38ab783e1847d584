"""What tests read of a run folder."""

import csv
from pathlib import Path

TIMES = {"ms_per_step", "seconds"}
"""Columns that differ from one training to an equal one."""


def rows_but_times(folder):
    """The metrics of each epoch."""
    with (Path(folder) / "metrics.csv").open(newline="") as file:
        return [
            {k: float(v) for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)
        ]
