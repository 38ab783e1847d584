"""Names that methods have elsewhere, and the solvers here that use the method.

A solver's own name has to be exact. These names only serve to suggest it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OF_BOTH: Final = {
    "bucket_elimination": "elimination",
    "dynamic_programming": "elimination",
    "junction_tree": "elimination",
    "max_product": "elimination",
    "max_sum": "elimination",
    "variable_elimination": "elimination",
    "viterbi": "elimination",
    "brute_force": "exhaustive",
    "enumeration": "exhaustive",
    "dual_decomposition": "dual_ascent",
    "message_passing": "dual_ascent",
    "mplp": "dual_ascent",
    "trws": "dual_ascent",
}
"""Names of methods of which bits and labels each have a solver, of the same name."""

OF_BITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_OF_BOTH,
        "graph_cut": "max_flow",
        "graph_cuts": "max_flow",
        "maximum_flow": "max_flow",
        "min_cut": "max_flow",
        "minimum_cut": "max_flow",
        "qpbo": "auto",
        "roof_duality": "auto",
        "bnb": "branch_and_bound",
        "cutting_planes": "cycle_cuts",
        "constraint_programming": "cp_sat",
        "max_sat": "cp_sat",
        "or_tools": "cp_sat",
        "sat": "cp_sat",
        "ilp": "highs",
        "integer_programming": "highs",
        "milp": "highs",
        "mip": "highs",
        "miqp": "cplex",
        "sdp": "semidefinite",
        "mini_bucket_elimination": "mini_buckets",
        "annealing": "local_search",
        "path_relinking": "local_search",
        "simulated_annealing": "local_search",
        "tabu": "local_search",
        "tabu_search": "local_search",
    }
)
"""Solver of bits by other names of its method; `auto` fixes variables by roof duality first."""

OF_LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **_OF_BOTH,
        "alpha_expansion": "expansion_moves",
        "fusion_moves": "expansion_moves",
        "graph_cut": "expansion_moves",
        "graph_cuts": "expansion_moves",
        "min_cut": "expansion_moves",
        "minimum_cut": "expansion_moves",
        "swap_moves": "expansion_moves",
        "annealing": "expansion_moves",
        "simulated_annealing": "expansion_moves",
        "tabu": "expansion_moves",
        "tabu_search": "expansion_moves",
        "bnb": "dual_ascent",
        "constraint_programming": "toulbar2",
        "wcsp": "toulbar2",
        "weighted_csp": "toulbar2",
    }
)
"""Solver of labels by other names of its method."""
