"""Keep what the page shows in the query of its address, so that a link shows it again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .posteriors.shown_posterior import Fixed


def query_of(image: int | None, fixed: Fixed, other: int | None) -> dict[str, str]:
    """Return the query of a test image, the fixed bits and the image at the end of the path.

    Example:
        >>> query_of(3, {0: 1, 7: 0}, None)
        {'image': '3', 'fix': '0:1,7:0'}
    """
    query = {}
    if image is not None:
        query["image"] = str(image)
    if fixed:
        query["fix"] = ",".join(f"{i}:{value}" for i, value in sorted(fixed.items()))
    if other is not None:
        query["to"] = str(other)
    return query


def read_query(query: Mapping[str, str], n: int) -> tuple[int | None, dict[int, int], int | None]:
    """Return what a query means; values that make no sense are ignored.

    Anybody can have written the link.

    Example:
        >>> read_query({"image": "3", "fix": "0:1,7:0,99:1,x"}, n=8)
        (3, {0: 1, 7: 0}, None)
    """
    pairs = re.findall(r"(?:^|,)(\d{1,2}):([01])(?=,|$)", query.get("fix", "")[:400])
    fixed = {int(i): int(value) for i, value in pairs if int(i) < n}
    return _number(query.get("image")), fixed, _number(query.get("to"))


def _number(text: str | None) -> int | None:
    if text is not None and re.fullmatch(r"[0-9]{1,7}", text):
        return int(text)
    return None
