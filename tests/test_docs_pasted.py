"""Every page with blocks to paste is pasted, from top to bottom, into a fresh folder beside an installed wheel."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from pasted_page import blocks

ROOT = Path(__file__).parent.parent
PASTED = Path(__file__).with_name("pasted_page.py")
PAGES = sorted(
    page for page in (ROOT / "docs").glob("*.md") if any(block.text for block in blocks(page))
)


def test_blocks_are_found_in_order_with_their_options_and_reasons(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```shell\npip install x\n```\n\n% not pasted: it takes hours\n```python\nf()\n```\n\n"
        "```{testoutput}\n:options: +ELLIPSIS\n\n...3\n```\n\n```{doctest}\n>>> 1\n1\n```\n"
    )
    found = list(blocks(page))
    assert [block.kind for block in found] == ["shell", "python", "{testoutput}", "{doctest}"]
    assert [block.line for block in found] == [3, 8, 12, 18]
    assert [block.reason for block in found] == ["", "it takes hours", "", ""]
    assert found[2].text == "...3\n"
    assert found[2].options == ":options: +ELLIPSIS\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("```shell\nfalse\n```", "page.md:1 shell fails"),
        ("```python\nx = 1\n```\n\n```{doctest}\n>>> x\n2\n```", "page.md:5 {doctest} fails"),
        ("```{testcode}\nprint(1)\n```\n\n```{testoutput}\n2\n```", "page.md:5 {testoutput} fails"),
        ("```python\nf()\n```", "page.md:1 python fails: NameError"),
    ],
    ids=["shell", "doctest", "output", "python"],
)
def test_a_page_that_does_not_run_as_written_fails(tmp_path, body, words):
    page = tmp_path / "page.md"
    page.write_text(body + "\n")
    done = subprocess.run(
        [sys.executable, PASTED, page], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert words in done.stderr
    assert pasted(page, "```{doctest}\n>>> 1 + 1\n2\n```\n", tmp_path).endswith(
        "page.md: 1 blocks\n"
    )


def test_a_function_of_one_block_sees_what_a_later_one_changes(tmp_path):
    first, second = ">>> x = 1\n>>> def f():\n...     return x\n", ">>> x = 2\n>>> f()\n2\n"
    body = f"```{{doctest}}\n{first}```\n\n```{{doctest}}\n{second}```\n"
    assert pasted(tmp_path / "page.md", body, tmp_path).endswith("page.md: 2 blocks\n")


def pasted(page, body, folder):
    page.write_text(body)
    done = subprocess.run(
        [sys.executable, PASTED, page], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where the programs of an environment with the wheel lie; what it needs is that of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    checkout = folder / "checkout"  # setuptools leaves files where it builds
    for package in ("solvers", "models", "structured_vae"):
        shutil.copytree(
            ROOT / package, checkout / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, checkout)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        checkout,
    ]
    subprocess.run([*build, "--wheel-dir", folder], check=True)
    shutil.rmtree(checkout)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    lib = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    (lib / "of_the_tests.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )  # whose own .pth files are not read
    [wheel] = folder.glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, "--ignore-installed", wheel], check=True)
    return python.parent


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs_as_it_is_written(installed, page, tmp_path):
    ours = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "STRUCTURED_VAE_DATA")
    }
    folders = (
        f"{installed}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    own = {
        "PATH": folders,
        "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }
    command = [installed / "python", "-I", PASTED, page]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=ours | own,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
