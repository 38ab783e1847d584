import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("typed_script.py")
CACHE = Path(__file__).parents[1] / ".mypy_cache" / SCRIPT.stem
# Nothing in the script comes from these, and two thirds of mypy's time would go to them.
OF_TORCH = ("_dynamo", "_export", "_functorch", "_inductor", "ao", "distributed", "fx")
UNRELATED = ("dask", "distributed", "lightning", "matplotlib", "rich", "torchmetrics")


@pytest.mark.slow
def test_a_script_in_another_folder_is_typed(tmp_path):
    # No folder of the checkout is in reach: mypy finds the packages as users' mypy does, where they
    # are installed.
    modules = ",".join(
        [*(f"torch.{part}.*" for part in OF_TORCH), *(f"{name}.*" for name in UNRELATED)]
    )
    (tmp_path / "mypy.ini").write_text(
        f"[mypy]\nstrict = true\n[mypy-{modules}]\nfollow_imports = skip\n"
    )
    command = [sys.executable, "-m", "mypy", f"--cache-dir={CACHE}", SCRIPT]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
