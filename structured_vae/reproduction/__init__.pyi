from .experiments import Axis, Cell, Experiment, experiment_names
from .plan import Status, status
from .records import Places, Record, read_record
from .report import Report, View, write_report
from .runner import Outcome, run_cell, run_cells
from .verdict_table import VerdictTable

__all__ = [
    "Axis",
    "Cell",
    "Experiment",
    "Outcome",
    "Places",
    "Record",
    "Report",
    "Status",
    "VerdictTable",
    "View",
    "experiment_names",
    "read_record",
    "run_cell",
    "run_cells",
    "status",
    "write_report",
]
