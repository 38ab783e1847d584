from .assignments import Assignments, Matchings
from .bits import Bits
from .categories import Categories
from .constrained import ConstrainedBits
from .labels import PairwiseLabels
from .of_potentials import space_of
from .paths import Paths, grid_paths
from .registry import SPACES
from .second_order import SecondOrderChains
from .segments import Segments
from .space import CustomSpace, StateSpace, as_space
from .structure import StateSums, Structure, TractableStructure, is_structure, refuse_pairs
from .subsets import Knapsack, KOfN
from .sums.distribution import StructureGibbs
from .trees import Arborescences, SpanningTrees

__all__ = [
    "SPACES",
    "Arborescences",
    "Assignments",
    "Bits",
    "Categories",
    "ConstrainedBits",
    "CustomSpace",
    "KOfN",
    "Knapsack",
    "Matchings",
    "PairwiseLabels",
    "Paths",
    "SecondOrderChains",
    "Segments",
    "SpanningTrees",
    "StateSpace",
    "StateSums",
    "Structure",
    "StructureGibbs",
    "TractableStructure",
    "as_space",
    "grid_paths",
    "is_structure",
    "refuse_pairs",
    "space_of",
]
