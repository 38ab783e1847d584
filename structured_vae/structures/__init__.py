"""Sets of states with an argmax, behind one protocol: what may stand where a solver of pairwise problems does.

Stands on the root's small files; posteriors and all above may import it.
"""

from .structure import Distribution, Structure, TractableStructure, is_structure

__all__ = ["Distribution", "Structure", "TractableStructure", "is_structure"]
