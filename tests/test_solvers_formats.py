"""Problem files: what they mean, against their own formulas, and what is refused."""

import gzip
import io
import itertools
import json
import math
import os
import pickle
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from drawn_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from solvers import OptionError, ProblemError, solver_class
from solvers.conversions import ConversionUnavailableError
from solvers.formats import FORMATS, ProblemFileError, read_problem

SMALL = 2**20  # max_bytes of the hostile files

QUBO = "# a comment\n 4 5 \n1 1 -3\n1 2 2\n2 4 -5.5\n\n3 3 1e1\n4 3 .5\n"
QBSOLV = "c a comment\np qubo 0 4 2 2\n0 0 -3\n2 2 7\n0 1 2\n1 3 -5\n"
MAX_CUT = "4 5 J\n1 2 1\n2 3 -2\n3 4 3\n1 4 4\n2 4 0\n"
UAI = (
    "MARKOV\n4\n2 2 2 2\n5\n1 2\n2 0 1\n2\t3 1\n0\n2 1 3\n\n"
    "2\n .5 2\n\n4\n1 2\n3 4\n4 0.1 7 .3 11\n1\n3\n4\n1 1 1 2\n"
)
DIMACS = (
    "c a network\np max 5 8\nn 2 s\nn 5 t\n"
    "a 2 1 4\na 2 3 3\na 1 3 2\na 3 1 1\na 1 5 2\na 3 4 9\na 4 5 5\na 5 2 7\n"
)
QPLIB = (
    "QPLIB_0001\nQBB\nmaximize\n4 # number of variables\n3 # number of quadratic terms in objective\n"
    "2 1 4.0\n4 3 -6\n2 2 3\n1.5 # default value for linear coefficients in objective\n"
    "2 # number of non-default linear coefficients in objective\n1 -2\n4 0.5\n0.25 # objective constant\n"
    "1.79769313486232E+308 # value for infinity\n0.0 # default variable primal value in starting point\n"
)
TEXTS = {
    "qubo": QUBO,
    "orlib": QUBO,
    "qbsolv": QBSOLV,
    "maxcut": MAX_CUT,
    "uai": UAI,
    "dimacs": DIMACS,
}
TEXTS["qplib"] = QPLIB


def sparse_value(z):
    return -3 * z[0] + 10 * z[2] + 2 * (2 * z[0] * z[1] - 5.5 * z[1] * z[3] + 0.5 * z[2] * z[3])


def qbsolv_value(z):
    return -3 * z[0] + 7 * z[2] + 2 * z[0] * z[1] - 5 * z[1] * z[3]


def qplib_value(z):
    return 0.25 - 2 * z[0] + 3 * z[1] + 1.5 * z[2] + 0.5 * z[3] + 2 * z[0] * z[1] - 3 * z[2] * z[3]


def cut_value(z):
    weights = {(0, 1): 1, (1, 2): -2, (2, 3): 3, (0, 3): 4}
    return sum(weight for (u, v), weight in weights.items() if z[u] != z[v])


def log_score(z):
    factors = [
        [0.5, 2][z[2]],
        [[1, 2], [3, 4]][z[0]][z[1]],
        [[0.1, 7], [0.3, 11]][z[3]][z[1]],
        3,
        [[1, 1], [1, 2]][z[1]][z[3]],
    ]
    return math.log(math.prod(factors))


def capacity(z):
    sides = (z[0], 1, z[2], z[3], 0)
    arcs = {(1, 0): 4, (1, 2): 3, (0, 2): 2, (2, 0): 1, (0, 4): 2, (2, 3): 9, (3, 4): 5, (4, 1): 7}
    return sum(capacity for (u, v), capacity in arcs.items() if sides[u] > sides[v])


MEANINGS = {
    "qubo": (sparse_value, -1),
    "orlib": (sparse_value, 1),
    "qbsolv": (qbsolv_value, -1),
    "qplib": (qplib_value, 1),
    "maxcut": (cut_value, 1),
    "uai": (log_score, 1),
    "dimacs": (capacity, -1),
}


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """Writes text or bytes, and gives the path."""
    folder = tmp_path_factory.mktemp("files")

    def write(content, name="file"):
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize("format", MEANINGS)
def test_what_a_file_means(file, format):
    objective, sign = MEANINGS[format]
    conversion = read_problem(file(TEXTS[format]), format)
    assert conversion.sign == sign
    for z in itertools.product((0, 1), repeat=conversion.problem.n):
        assert conversion.value(float(conversion.problem.score(z))) == pytest.approx(
            objective(z), abs=1e-12
        )


def test_variables_keep_their_numbers(file):
    first = {format: read_problem(file(text), format).names[0] for format, text in TEXTS.items()}
    assert first == {
        "qubo": 1,
        "orlib": 1,
        "qbsolv": 0,
        "maxcut": 1,
        "uai": 0,
        "dimacs": 1,
        "qplib": 1,
    }


@pytest.mark.parametrize("format", TEXTS)
def test_gzip_line_ends_and_layout_change_nothing(file, format):
    plain = read_problem(file(TEXTS[format]), format)
    text = TEXTS[format]
    for content in (
        text.replace("\n", "\r\n").encode(),
        text.rstrip().encode(),
        text.replace(" ", "\t ").encode(),
    ):
        for packed in (content, gzip.compress(content)):
            other = read_problem(file(packed), format)
            assert np.array_equal(other.problem.unary, plain.problem.unary)
            assert np.array_equal(other.problem.pairwise, plain.problem.pairwise)
            assert np.array_equal(other.problem.edges, plain.problem.edges)
            assert other.constant == plain.constant


def test_uai_without_line_ends(file):
    assert read_problem(file(UAI.replace("\n", " "))).constant == read_problem(file(UAI)).constant


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.sparse", "qubo"),
        ("a.qubo", "qubo"),
        ("a.sparse.gz", "qubo"),
        ("a.mc", "maxcut"),
        ("a.rudy.gz", "maxcut"),
        ("a.qubo", "qbsolv"),
        ("anything", "uai"),
        ("anything.txt.gz", "dimacs"),
    ],
)
def test_the_format_is_guessed(file, name, format):
    content = TEXTS[format].encode()
    path = file(gzip.compress(content) if name.endswith(".gz") else content, name)
    assert read_problem(path).constant == read_problem(path, format).constant
    assert read_problem(str(path)).sign == MEANINGS[format][1]


def test_npz(file):
    unary, matrix = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[0, 4.0], [0, 0]])
    dense = read_problem(file(archive(unary=unary, pairwise=matrix)))
    assert dense.problem.score([[1, 1], [1, 1]]).tolist() == [3.0, 7.5]
    assert dense.value(3.0) == 3.0
    path = file(
        archive(unary=unary.astype(">f4"), pairwise=np.array([4]), edges=np.array([[1, 0]], "<i4"))
    )
    edges = read_problem(path, "npz")
    assert edges.problem.score([[1, 1], [1, 1]]).tolist() == [3.0, 7.5]
    assert (
        read_problem(file(archive(unary=np.asfortranarray(unary)))).problem.unary.tolist()
        == unary.tolist()
    )
    stream = io.BytesIO()
    np.savez_compressed(stream, unary=np.array([True, False]))
    assert read_problem(file(stream.getvalue(), "compressed.npz")).problem.unary.tolist() == [
        [1.0, 0.0]
    ]


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


BAD = {
    "no format": (None, "2 1\n1 2 3\n", None, "qbsolv: "),
    "empty": (None, "", None, "pass format="),
    "empty sparse": ("qubo", "", None, "the file is empty"),
    "only comments": ("maxcut", "# nothing\n", 1, "the file is empty"),
    "one number": ("qubo", "10\n", 1, "header 'n m'; the line has 1 words"),
    "three numbers": ("maxcut", "2 1 1\n1 2 3\n", 1, "header 'n m'"),
    "no variables": ("qubo", "0 0\n", 1, "n is 0"),
    "a negative size": ("maxcut", "3 -1\n", 1, "m is -1"),
    "a size with a point": ("qubo", "3.0 1\n1 1 1\n", 1, "n must be an integer; it is '3.0'"),
    "digits that Python takes": ("qubo", "3_0 1\n1 1 1\n", 1, "it is '3_0'"),
    "digits of another script": ("qubo", "٣ 1\n1 1 1\n", 1, "must be an integer; it is '\\xd9"),
    "a long number": ("qubo", "9" * 5000 + " 1\n", 1, "9'..."),
    "two words": (
        "maxcut",
        edited(MAX_CUT, "3 4 3", "3 4"),
        4,
        "expected 'i j weight'; the line has 2 words",
    ),
    "a variable too large": (
        "qubo",
        edited(QUBO, "2 4 -5.5", "2 5 -5.5"),
        5,
        "a variable is 5; it must lie in 0..4",
    ),
    "variable zero": ("maxcut", edited(MAX_CUT, "1 4 4", "0 4 4"), 5, "line 4 has the variable 4"),
    "nan": (
        "qubo",
        edited(QUBO, "-5.5", "nan"),
        5,
        "the weight must be a finite number; it is 'nan'",
    ),
    "infinity": ("maxcut", edited(MAX_CUT, "2 3 -2", "2 3 -inf"), 3, "it is '-inf'"),
    "too large": ("maxcut", edited(MAX_CUT, "2 3 -2", "2 3 1e999"), 3, "it is '1e999'"),
    "a nul byte": ("maxcut", edited(MAX_CUT, "2 3 -2", "2 3\0 -2"), 3, "it is '3\\x00'"),
    "sums overflow": ("maxcut", "2 1\n1 2 1e308\n", None, "finite"),
    "magnitude": ("qubo", "2 2\n1 1 4e307\n2 2 4e307\n", None, "overflow float64"),
    "truncated": (
        "qubo",
        edited(QUBO, "4 3 .5\n", ""),
        7,
        "claims 5 entries, but the file ends after 4",
    ),
    "too many": ("maxcut", MAX_CUT + "1 3 1\n", 7, "claims 5 entries, but there are more"),
    "a pair twice": (
        "qubo",
        edited(QUBO, "4 3 .5", "4 2 .5"),
        8,
        "the pair (4, 2) is already in line 5",
    ),
    "claims more variables than memory": (
        "qubo",
        f"{10**12} 1\n1 1 1\n",
        1,
        "claims 1000000000000 variables",
    ),
    "claims more entries than the file": (
        "maxcut",
        f"3 {10**15}\n1 2 1\n",
        1,
        "claims 1000000000000000 entries",
    ),
    "qplib of integers": (
        "qplib",
        edited(QPLIB, "QBB", "QIB"),
        2,
        "only unconstrained binary problems",
    ),
    "qplib with constraints": ("qplib", edited(QPLIB, "QBB", "QBL"), 2, "QBL"),
    "qplib of another sense": (
        "qplib",
        edited(QPLIB, "maximize", "improve"),
        3,
        "minimize or maximize",
    ),
    "qplib cut": ("qplib", QPLIB[: QPLIB.index("0.25")], 12, "ends before the constant"),
    "qplib numbered from zero": (
        "qplib",
        edited(QPLIB, "2 1 4.0", "2 0 4.0"),
        6,
        "must lie in 1..4",
    ),
    "qplib claims": (
        "qplib",
        edited(QPLIB, "3 # number of q", "4 # number of q"),
        9,
        "expected 'i j weight'",
    ),
    "not qbsolv": ("qbsolv", QUBO, 2, "expected the header 'p qubo"),
    "qbsolv maximum": ("qbsolv", "p qubo 0 2 3 0\n", 1, "the number of linear terms is 3"),
    "qbsolv kinds": (
        "qbsolv",
        edited(QBSOLV, "2 2 7", "2 3 7"),
        6,
        "claims 2 linear terms, but there are 1",
    ),
    "qbsolv numbered from one": (
        "qbsolv",
        edited(QBSOLV, "1 3 -5", "1 4 -5"),
        6,
        "must lie in 0..3",
    ),
    "another network": ("uai", edited(UAI, "MARKOV", "MARKED"), 1, "starts with 'MARKED'"),
    "three states": ("uai", edited(UAI, "2 2 2 2", "2 2 3 2"), 3, "variable 2 has 3 states"),
    "three variables": ("uai", edited(UAI, "2 0 1\n", "3 0 1 2\n"), 6, "a factor has 3 variables"),
    "a variable twice in a factor": (
        "uai",
        edited(UAI, "2 0 1\n", "2 1 1\n"),
        6,
        "the variable 1 twice",
    ),
    "a table of another size": (
        "uai",
        edited(UAI, "4 0.1", "3 0.1"),
        17,
        "the size of the table is 3",
    ),
    "a zero": ("uai", edited(UAI, ".5 2", "0.0 2"), 12, "a score of minus infinity"),
    "a negative probability": ("uai", edited(UAI, ".5 2", "-1 2"), 12, "it must be positive"),
    "a probability that is no number": (
        "uai",
        edited(UAI, ".5 2", "nan 2"),
        12,
        "finite number; it is 'nan'",
    ),
    "a table cut short": ("uai", UAI[:-3], 21, "the file ends before a probability"),
    "another table": ("uai", UAI + "7\n", 22, "followed by '7'"),
    "claims more factors": (
        "uai",
        edited(UAI, "\n5\n", f"\n{10**9}\n"),
        4,
        "claims 1000000000 entries",
    ),
    "claims more cards": ("uai", "MARKOV 10000 2 2 2 2", 1, "claims 10000 entries"),
    "no header": ("dimacs", "a 1 2 3\n", 1, "expected the header 'p max n m'"),
    "a second header": ("dimacs", edited(DIMACS, "n 2 s\n", "p max 5 8\n"), 3, "starts with 'p'"),
    "an assignment problem": ("dimacs", edited(DIMACS, "p max", "p asn"), 2, "expected the header"),
    "no source": ("dimacs", edited(DIMACS, "n 2 s\n", ""), 11, "ends without"),
    "two sinks": ("dimacs", edited(DIMACS, "n 2 s", "n 2 t"), 4, "one source s and one sink t"),
    "source and sink the same": ("dimacs", edited(DIMACS, "n 2 s", "n 5 s"), None, "two nodes"),
    "another terminal": ("dimacs", edited(DIMACS, "n 2 s", "n 2 x"), 3, "got 'x'"),
    "a negative capacity": ("dimacs", edited(DIMACS, "a 1 3 2", "a 1 3 -2"), 7, "it must be >= 0"),
    "a node outside": ("dimacs", edited(DIMACS, "a 1 3 2", "a 1 6 2"), 7, "a node is 6"),
    "an arc too few": ("dimacs", edited(DIMACS, "a 1 3 2\n", ""), 11, "ends after 7"),
    "an arc too many": ("dimacs", DIMACS + "a 1 2 3\n", 13, "there are more"),
    "bytes": ("dimacs", bytes(range(256)), 1, "expected the header"),
    "a long line": ("qubo", b"1" * (2**20 + 1), None, "larger max_bytes"),
    "a gzip header and no more": ("qubo", b"\x1f\x8b", None, "gzip stream is damaged"),
    "a gzip stream cut short": (
        "qubo",
        gzip.compress(QUBO.encode())[:-9],
        None,
        "gzip stream is damaged",
    ),
    "a zip header and no more": (None, b"PK\x03\x04", None, "archive is damaged"),
    "not an archive": ("npz", QUBO, None, "archive is damaged"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named(file, case):
    format, content, line, message = BAD[case]
    path = file(content, "bad")
    with pytest.raises(ProblemFileError) as caught:
        read_problem(path, format, max_bytes=SMALL)
    assert message in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line) or line is None
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ProblemError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  # our own


def header(text, data=b""):
    body = text.encode()
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body + data


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(f"{name}.npy", content)
    return stream.getvalue()


FLOATS = "{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}\n"
BAD_ARCHIVES = {
    "objects": (archive(unary=np.array([{}, []], dtype=object)), "not an array of real numbers"),
    "words": (archive(unary=np.array(["a", "b"])), "not an array of real numbers"),
    "complex": (archive(unary=np.array([1j])), "not an array of real numbers"),
    "no unary": (archive(pairwise=np.ones(3)), "expected the arrays unary"),
    "other arrays": (archive(unary=np.ones(3), weights=np.ones(3)), "'weights'"),
    "nan": (archive(unary=np.array([1.0, np.nan])), "unary[1] is nan"),
    "shapes": (archive(unary=np.ones(3), pairwise=np.ones((2, 2))), "must be [..., 3, 3]"),
    "a number": (archive(unary=np.float64(3.0)), "must be [..., n]"),
    "a huge claim": (
        zipped(unary=header(FLOATS.format("(1000000000000,)"), bytes(16))),
        "16 bytes of float64 and claims",
    ),
    "a claim of many digits": (
        zipped(unary=header(FLOATS.format(f"({'9' * 3000},)"))),
        "has 0 bytes",
    ),
    "too many dimensions": (
        zipped(unary=header(FLOATS.format("(0, " + "1, " * 99 + ")"))),
        "damaged",
    ),
    "code": (
        zipped(unary=header("__import__('os').system('true')\n")),
        "not an array of real numbers",
    ),
    "a header too long": (zipped(unary=header(" " * 9000)), "not an array of real numbers"),
    "a bomb": (
        zipped(unary=header(FLOATS.format("(1000000,)"), bytes(8_000_000))),
        "more than max_bytes",
    ),
    "a batch by broadcasting": (
        archive(
            unary=np.zeros((4000, 1, 2)), pairwise=np.zeros((1, 4000, 1)), edges=np.array([[0, 1]])
        ),
        "a batch of 16000000",
    ),
    "a batch of nothing": (
        zipped(
            unary=header(FLOATS.format("(2,)"), bytes(16)),
            pairwise=header(FLOATS.format("(1000000000, 0)")),
            edges=header(FLOATS.format("(0, 2)")),
        ),
        "a batch of 1000000000",
    ),
}


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_bad_archives_are_named(file, case):
    content, message = BAD_ARCHIVES[case]
    path = file(content, "bad.npz")
    with pytest.raises(ProblemFileError) as caught:
        read_problem(path, max_bytes=SMALL)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("format", "line", "message"),
    [
        ("qubo", b" " * 2**24, "longer than"),
        ("maxcut", (b"#" * 999 + b"\n") * 2**14, "larger than max_bytes"),
    ],
)
def test_gzip_bombs_take_no_memory(file, format, line, message):
    path = file(gzip.compress(b"3 3\n" + line), "bomb.gz")
    tracemalloc.start()
    with pytest.raises(ProblemFileError, match=message):
        read_problem(path, format, max_bytes=4 * SMALL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * SMALL


@pytest.mark.spread(2)
@pytest.mark.parametrize("line", [b"\n", b"#\n", b"c nothing\n", b" \t\r\n"], ids=repr)
def test_a_hundred_million_lines_that_say_nothing_take_no_time(file, line):
    path = file(gzip.compress(b"3 3\n" + line * 2**24, 1), "bomb.gz")
    begin = time.process_time()
    with pytest.raises(ProblemFileError, match="more blank or comment lines than others") as caught:
        read_problem(path, "maxcut")
    assert time.process_time() - begin < 1
    assert caught.value.line == 100_003


def test_comments_and_blank_lines_may_be_many(file):
    plain = read_problem(file(QUBO), "qubo")
    spread = QUBO.replace("\n", "\n" + "\n# more\n" * 5_000)
    assert np.array_equal(
        read_problem(file(spread), "qubo").problem.pairwise, plain.problem.pairwise
    )


@pytest.mark.parametrize("format", TEXTS)
def test_a_byte_order_mark_changes_nothing(file, format):
    plain = read_problem(file(TEXTS[format]), format)
    marked = b"\xef\xbb\xbf" + TEXTS[format].encode()
    for content in (marked, gzip.compress(marked)):
        assert np.array_equal(
            read_problem(file(content), format).problem.unary, plain.problem.unary
        )
    if FORMATS[format].first_words:
        assert read_problem(file(marked)).constant == plain.constant


@pytest.mark.parametrize("format", [None, *TEXTS])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_text_of_another_encoding_is_named(file, format, encoding):
    content = ("\ufeff" + QUBO).encode(encoding)
    with pytest.raises(ProblemFileError, match=r"line 1: the text is in UTF-16; save it as UTF-8"):
        read_problem(file(content), format)


@pytest.mark.parametrize("path", [None, 3, b"file", {"a": 1}, np.ones(2)])
def test_what_is_no_path(path):
    with pytest.raises(OptionError, match="path must be the path of a file"):
        read_problem(path)


@pytest.mark.parametrize("path", ["x" * 5000, "a/" * 3000, "\0", ""])
def test_names_that_no_file_has(path):
    with pytest.raises((OptionError, ProblemFileError)) as caught:
        read_problem(path)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("format", [3, [], {"npz"}, "", np.array(["npz", "uai"])])
def test_what_names_no_format(file, format):
    with pytest.raises(OptionError, match="no format is called"):
        read_problem(file(QUBO), format)


@pytest.mark.parametrize("max_bytes", [0, -1, None, "100", 1e9])
def test_what_is_no_number_of_bytes(file, max_bytes):
    with pytest.raises(OptionError, match="max_bytes must be a whole number"):
        read_problem(file(QUBO), "qubo", max_bytes=max_bytes)


def test_a_text_that_packs_well_is_read(file):
    arcs = 20_000  # 8 bytes each, of which a hundredth is left
    path = file(
        gzip.compress(b"p max 2 %d\nn 1 s\nn 2 t\n" % arcs + b"a 1 2 1\n" * arcs), "parallel.gz"
    )
    assert path.stat().st_size < arcs // 10
    assert read_problem(path, "dimacs").constant == arcs


def test_a_batch_by_broadcasting_is_measured_in_bytes(file):
    path = file(
        archive(unary=np.zeros((10, 1, 2)), pairwise=np.zeros((10, 1)), edges=np.array([[0, 1]])),
        "b.npz",
    )
    assert read_problem(path, max_bytes=1600).problem.leading == (10, 10)
    with pytest.raises(ProblemFileError, match="a batch of 100 takes more than max_bytes = 1599"):
        read_problem(path, max_bytes=1599)


def test_max_bytes(file):
    path = file(QUBO)
    with pytest.raises(ProblemFileError, match="larger max_bytes"):
        read_problem(path, "qubo", max_bytes=20)
    assert read_problem(path, "qubo", max_bytes=256).problem.n == 4


def test_unknown_formats_and_missing_files(file, tmp_path):
    with pytest.raises(OptionError, match="did you mean 'dimacs'") as caught:
        read_problem(file(QUBO), "dimac")
    assert all(f"{name}: " in str(caught.value) for name in FORMATS)
    with pytest.raises(ProblemFileError, match="no such file"):
        read_problem(tmp_path / "none.uai")
    with pytest.raises(ProblemFileError, match="not a regular file"):
        read_problem(tmp_path)


def read_or_refuse(path, format):
    """Only our error may come out."""
    try:
        conversion = read_problem(path, format, max_bytes=SMALL)
    except ProblemFileError as error:
        assert error.path == path  # noqa: PT017  # most files are refused, some are not
    except ConversionUnavailableError:  # the package of this format is not installed
        pass
    else:
        problem = conversion.problem
        assert np.isfinite(problem.unary).all()
        assert np.isfinite(problem.pairwise).all()
        assert math.isfinite(conversion.constant)


NUMBERS = "0 1 2 3 4 5 9 -1 1e308 -1e308 1e-320 nan inf 1e999 99999999999 999999999999999999999 1_0 0x1 + ."
LETTERS = "a c # p n s t max qubo MARKOV \0"
WORDS = st.sampled_from([*NUMBERS.split(), *LETTERS.split(), "\n", "\n\n"])
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["put", "drop", "swap"]), WORDS), max_size=4
)


def scrambled(text, edits):
    words = text.replace("\n", " \n ").split(" ")
    for where, what, word in edits:
        place = int(where * (len(words) - 1))
        words[place : place + (what != "put")] = [] if what == "drop" else [word]
    return " ".join(words).encode()


@pytest.mark.spread(3)
@pytest.mark.parametrize("format", TEXTS)
@examples(150)
@given(edits=EDITS, packed=st.booleans())
def test_fuzz_words(file, format, edits, packed):
    content = scrambled(TEXTS[format], edits)
    read_or_refuse(file(gzip.compress(content) if packed else content, "fuzz"), format)


@examples(200)
@given(format=st.sampled_from([None, *FORMATS]), content=st.binary(max_size=200))
def test_fuzz_bytes(file, format, content):
    read_or_refuse(file(content, "fuzz"), format)


DAMAGED = {
    "npz": archive(unary=np.array([1.0, 2.0]), pairwise=np.array([3.0]), edges=np.array([[0, 1]])),
    "dimacs": gzip.compress(DIMACS.encode()),
}


@pytest.mark.parametrize("format", DAMAGED)
@examples(150)
@given(data=st.data())
def test_fuzz_damaged_archives(file, format, data):
    content = bytearray(DAMAGED[format])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 40))
    with warnings.catch_warnings(action="ignore"):  # zipfile warns of names that come twice
        read_or_refuse(file(bytes(content[: len(content) - cut]), "fuzz"), format)


@pytest.fixture(scope="session")
def library():
    """Path and record of each instance of a kind."""
    root = Path(os.environ.get("STRUCTURED_VAE_DATA", "")) / "problems"
    if "STRUCTURED_VAE_DATA" not in os.environ or not root.is_dir():
        pytest.skip("STRUCTURED_VAE_DATA names no folder with problems/")

    def instances(kind):
        index = json.loads((root / kind / "index.json").read_text())
        records = index["instances"] if isinstance(index, dict) else index
        assert records
        return [(root / kind / record["file"], record) for record in records]

    return instances


def solved(conversion, solver):
    solution = solver_class(solver)().solve(conversion.problem)
    assert bool(solution.optimal)
    return float(conversion.value(solution.score))


def sparse_format(record):
    return "orlib" if record["sense"] == "max" else "qubo"


every_size = pytest.mark.parametrize(
    "largest", [2_000, pytest.param(math.inf, marks=pytest.mark.slow)]
)


@every_size
def test_library_max_flow(library, largest):
    for path, record in library("maxflow"):
        if record["n"] > largest:
            continue
        conversion = read_problem(path)
        assert conversion.problem.n == record["n"]
        assert solved(conversion, "max_flow") == record["optimal"], record["name"]


@every_size
def test_library_markov_networks(library, largest):
    instances = library("mrf")
    labellings = json.loads(
        gzip.decompress((instances[0][0].parents[1] / "solutions.json.gz").read_bytes())
    )
    for path, record in instances:
        if record["n"] > largest:
            continue
        if record["max_card"] > 2:
            with pytest.raises(ProblemFileError):
                read_problem(path, "uai")
            continue
        conversion = read_problem(path)
        problem, optimal = conversion.problem, pytest.approx(record["optimal"], rel=1e-9)
        labelling = np.array([int(label) for label in labellings[record["name"]]])
        assert float(conversion.value(problem.score(labelling))) == optimal, record["name"]
        assert (problem.e, int((problem.pairwise > 0).sum())) == (
            record["nnz"],
            record["submodular_pairs"],
        )
        if problem.negative_pair() is None:
            assert solved(conversion, "max_flow") == optimal


def test_library_solved(library):
    small = [
        item
        for item in library("qubo")
        if item[1]["name"].startswith(("bqp50-", "gka6a", "gka7a", "gka1a"))
    ]
    for path, record in small:
        assert (
            solved(read_problem(path, sparse_format(record)), "cp_sat") == record["best_known"]
        ), record["name"]
    planar = [item for item in library("maxcut") if item[1]["name"].startswith("t2g10")]
    for path, record in planar:
        assert solved(read_problem(path, "maxcut"), "cp_sat") == record["best_known"], record[
            "name"
        ]
    assert len(small) == 8
    assert len(planar) == 2


def tabu(problem, flips, generator):
    """The best score that so many single flips find, the least bad one where none is good."""
    starts = np.concatenate([problem.edges[:, 0], problem.edges[:, 1]])
    order = np.argsort(starts, kind="stable")
    ends = np.concatenate([problem.edges[:, 1], problem.edges[:, 0]])[order]
    weights = np.tile(problem.pairwise[0], 2)[order]
    bounds = np.searchsorted(starts[order], np.arange(problem.n + 1))
    z, gain, free = np.zeros(problem.n, int), problem.unary[0].copy(), np.zeros(problem.n, int)
    score = best = 0.0
    for step in range(flips):
        i = int(np.argmax(np.where(free <= step, gain, -np.inf)))
        score += gain[i]
        best = max(best, score)
        near = slice(bounds[i], bounds[i + 1])
        gain[ends[near]] += weights[near] * (1 - 2 * z[i]) * (1 - 2 * z[ends[near]])
        z[i], gain[i] = 1 - z[i], -gain[i]
        free[i] = step + min(20, problem.n // 4) + generator.integers(10)
    return best


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "share"), [("qubo", 0.75), ("maxcut", 0.75)])
def test_library_best_known_values(library, kind, share):
    """A short search comes near the best known value and never beyond it."""
    reached = 0
    for path, record in library(kind):
        conversion = read_problem(path, "maxcut" if kind == "maxcut" else sparse_format(record))
        problem = conversion.problem
        assert problem.n == record["n"]
        if problem.n > 1000:
            continue
        best = abs(record["best_known"])
        found = conversion.value(tabu(problem, 2 * problem.n + 2000, np.random.default_rng(0)))
        value = math.copysign(found, found * record["best_known"])
        assert share * best <= value <= best, record["name"]
        reached += value == best
    assert reached > 20
