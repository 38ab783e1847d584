"""Chunks of CoNLL-2000 by a linear-chain CRF with CRF++'s features, beside sklearn-crfsuite.

    pip install sklearn-crfsuite
    STRUCTURED_VAE_DATA=FOLDER python benchmarks/chunking.py --output results/labels_chunking.json
    STRUCTURED_VAE_DATA=FOLDER python benchmarks/chunking.py --C 1 --output
    results/labels_chunking_c1.json

Features are those of CRF++'s template for this task, seven of words and twelve of parts of speech,
of which those count that come at least three times in the training sentences. C is chosen by the F1
of chunks in every tenth training sentence, after training on the rest, or given: 1 is that of the
published results. The test sentences are tagged once. sklearn-crfsuite gets the same features, the
same penalty and the rest of its defaults, in the same process. Seconds are of CPU time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import torch
from rich.console import Console
from scipy.sparse import csr_array

from benchmarks.structured_data import Tokens, chunking
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.learn import ChainCRF

WORDS = ((-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1))
PARTS = (
    (-2,),
    (-1,),
    (0,),
    (1,),
    (2,),
    (-2, -1),
    (-1, 0),
    (0, 1),
    (1, 2),
    (-2, -1, 0),
    (-1, 0, 1),
    (0, 1, 2),
)
LEAST = 3
CHOICES = (0.5, 1.0, 2.0)
TOL = 1e-5
EVERY = 10

Chunk = tuple[int, int, str]


def attributes(sentence: Sequence[Sequence[str]]) -> list[list[str]]:
    """The names of the features of each token that are one."""
    columns = []
    for column in (0, 1):
        inner = [token[column] for token in sentence]
        columns.append(["_B-2", "_B-1", *inner, "_B+1", "_B+2"])
    found = []
    for place in range(2, len(sentence) + 2):
        own = []
        for letter, values, templates in zip("wp", columns, (WORDS, PARTS), strict=True):
            own += [
                f"{letter}{at}:" + "/".join(values[place + step] for step in at) for at in templates
            ]
        found.append(own)
    return found


def chunks_of(tags: Sequence[str]) -> set[Chunk]:
    """Beginning, end and kind of each chunk, as conlleval counts them."""
    found, start, kind = set(), None, ""
    for place, tag in enumerate([*tags, "O"]):
        first, _, own = tag.partition("-")
        if start is not None and (first in "BO" or own != kind):
            found.add((start, place, kind))
            start = None
        if first != "O" and start is None:
            start, kind = place, own
    return found


def f1(truth: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """Of chunks, in percent."""
    pairs = [(chunks_of(a), chunks_of(b)) for a, b in zip(truth, found, strict=True)]
    right, all_of = sum(len(a & b) for a, b in pairs), sum(len(a) + len(b) for a, b in pairs)
    return 200 * right / all_of


def accuracy(truth: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """Of tags, in percent."""
    return 100 * float(np.mean(np.concatenate([*truth]) == np.concatenate([*found])))


class Split:
    """Sentences to train on and to tag, with their features."""

    def __init__(self, train: Tokens, other: Tokens):
        self.names = [[attributes(sentence) for sentence in part] for part in (train, other)]
        self.tags = [
            [[token[2] for token in sentence] for sentence in part] for part in (train, other)
        ]
        count = Counter(name for sentence in self.names[0] for token in sentence for name in token)
        self.index = {
            name: i for i, name in enumerate(sorted(name for name in count if count[name] >= LEAST))
        }

    def matrices(self, part: int) -> list[csr_array]:
        """`[length, features]` of each sentence."""
        found = []
        for sentence in self.names[part]:
            rows = [
                [self.index[name] for name in token if name in self.index] for token in sentence
            ]
            ends = np.cumsum([0, *map(len, rows)])
            columns = np.array([column for row in rows for column in row], np.int64)
            shape = len(sentence), len(self.index)
            found.append(csr_array((np.ones(len(columns)), columns, ends), shape=shape))
        return found

    def dictionaries(self, part: int) -> list[list[dict[str, float]]]:
        """The same for crfsuite."""
        return [
            [{name: 1.0 for name in token if name in self.index} for token in sentence]
            for sentence in self.names[part]
        ]


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of a call, and what it gave."""
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def ours(split: Split, c: float) -> dict[str, Any]:
    """Trains and tags with `ChainCRF`."""
    (x, other), model = (split.matrices(part) for part in (0, 1)), ChainCRF(C=c, tol=TOL)
    fit, _ = seconds_of(lambda: model.fit(x, split.tags[0]))
    predict, found = seconds_of(lambda: model.predict(other))
    proved = float(model.solve(other).optimal.mean())
    measured = {"fit_seconds": fit, "predict_seconds": predict, "iterations": model.n_iter_}
    return measured | {
        "C": c,
        "f1": f1(split.tags[1], found),
        "accuracy": accuracy(split.tags[1], found),
        "proved": proved,
        "objective": model.objective_,
        "parameters": model.coef_.size + model.transitions_.size + 2 * len(model.classes_),
    }


def crfsuite(split: Split, c: float) -> dict[str, Any]:
    """Trains and tags with sklearn-crfsuite, whose penalty is c2 |w|^2."""
    x, other = (split.dictionaries(part) for part in (0, 1))
    library = importlib.import_module("sklearn_crfsuite")
    model = library.CRF(algorithm="lbfgs", c1=0.0, c2=0.5 / c)
    fit, _ = seconds_of(lambda: model.fit(x, split.tags[0]))
    predict, found = seconds_of(lambda: model.predict(other))
    measured = {
        "fit_seconds": fit,
        "predict_seconds": predict,
        "iterations": model.training_log_.last_iteration["num"],
    }
    return measured | {
        "C": c,
        "f1": f1(split.tags[1], found),
        "accuracy": accuracy(split.tags[1], found),
    }


def tried(train: Tokens) -> list[dict[str, Any]]:
    """Every choice of C on held-out training sentences."""
    kept = [sentence for place, sentence in enumerate(train) if place % EVERY]
    held_out = Split(kept, train[::EVERY])
    return [ours(held_out, c) for c in CHOICES]


def main() -> None:
    """Chooses, trains, tags, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("results/labels_chunking.json"))
    parser.add_argument("--C", type=float, help="in place of a choice on held-out sentences")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    record: dict[str, Any] = {**environment(), "clock": "process_time", "tol": TOL, "least": LEAST}
    console, train = Console(width=100), chunking("train")
    record["tried"] = [] if options.C else tried(train)
    best = options.C or max(record["tried"], key=lambda row: row["f1"])["C"]
    split = Split(train, chunking("test"))
    for name, call in (("structured-vae", ours), ("sklearn-crfsuite", crfsuite)):
        record[name] = call(split, best)
        console.print(
            f"{name}: F1 {record[name]['f1']:.2f}, {record[name]['fit_seconds']:.0f} s of CPU time"
        )
        with whole_file(options.output) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {options.output}")


if __name__ == "__main__":
    main()
