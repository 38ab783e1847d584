"""Sets of states with an argmax, behind one protocol: what may stand where a solver of pairwise problems does.

Stands on the root's small files; posteriors and all above may import it.
"""

from .assignments import Assignments, Matchings
from .labels import PairwiseLabels
from .paths import Paths, grid_paths
from .structure import Distribution, Structure, TractableStructure, is_structure, refuse_pairs
from .subsets import Knapsack, KOfN
from .sums import StructureGibbs
from .trees import Arborescences, SpanningTrees

__all__ = [
    "Arborescences",
    "Assignments",
    "Distribution",
    "KOfN",
    "Knapsack",
    "Matchings",
    "PairwiseLabels",
    "Paths",
    "SpanningTrees",
    "Structure",
    "StructureGibbs",
    "TractableStructure",
    "grid_paths",
    "is_structure",
    "refuse_pairs",
]
