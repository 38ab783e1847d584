"""Tables of scores by pairs, as pandas and spreadsheets write them."""

from __future__ import annotations

import numpy as np

from ..conversions.conversion import Conversion, converted
from .text import TextFile

COLUMNS = 3


def read_csv(text: TextFile) -> Conversion:
    """From rows 'i,j,score' under a line of three names, maximised.

    The score is that of a pair, or of a variable alone where j is i or empty. Variables are named by any texts
    without commas, and numbered in the order in which they come; rows of the same pair add up.

    Raises:
        ProblemFileError: another form.
    """
    rows = text.cells()
    header = next(rows, [])
    if len(header) != COLUMNS:
        raise text.error("expected three columns: two variables and a score")
    places: dict[str, int] = {}
    pairs, scores = [], []
    for cells in rows:
        if len(cells) != COLUMNS or not cells[0]:
            raise text.error("expected a variable, another or nothing, and a score")
        first, second = (text.name(cell) for cell in (cells[0], cells[1] or cells[0]))
        pairs.append([places.setdefault(name, len(places)) for name in (first, second)])
        scores.append(text.number(cells[2], header[2].decode(errors="replace")))
    if not pairs:
        raise text.error("there are no rows")
    return converted("maximise", list(places), np.zeros(len(places)), np.array(pairs), np.array(scores), 0.0)
