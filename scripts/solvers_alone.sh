#!/usr/bin/env bash
# Installs `structured-vae-solvers` into a fresh environment, says its size, and tries what has to work without torch.
# The kernels are compiled in build/solvers_alone, where a second run finds them. With KERNELS=FOLDER the script installs
# the kernels in that folder, which this Python must have compiled from the same sources.
# Usage: scripts/solvers_alone.sh [ENVIRONMENT], default .venv-solvers; TESTS='' leaves the solvers' tests out.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:-.venv-solvers}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

"${PYTHON:-python3}" -m venv --clear "$environment"
python="$(cd "$environment" && pwd)/bin/python"
pip=("$python" -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt)
"$python" scripts/solvers_alone.py build/solvers >/dev/null
before=$(du -sm "$environment" | cut -f1)
echo "installing, with ${KERNELS:-kernels that are compiled now}"
"${pip[@]}" --config-settings=build-dir="$PWD/build/solvers_alone" \
  --config-settings=cmake.define.COMPILED_KERNELS="${KERNELS-}" ./build/solvers
echo "$(($(du -sm "$environment" | cut -f1) - before)) MB installed"

# From another folder, so that the installed packages are tried and not the tree's. The solvers' tests say what they skip.
(cd "$tree" && "$python" - <<'END' && "$(dirname "$python")/structured-vae" solve problem.npz --output answers.json)
import importlib.util
import numpy as np
from solvers import gibbs, instances, solve, solve_many
from solvers.formats import read_problem

assert importlib.util.find_spec("torch") is None
drawn = instances.dense(12, 3, np.random.default_rng(0))
best = solve(drawn.unary, drawn.pairwise, edges=drawn.edges)
assert best.optimal.all() and np.isfinite(gibbs(drawn.unary, drawn.pairwise, edges=drawn.edges).log_partition).all()
assert all(found.optimal.all() for found in solve_many([drawn.problem()] * 2))
np.savez("problem.npz", unary=drawn.unary, pairwise=drawn.pairwise, edges=drawn.edges)
assert np.array_equal(solve(read_problem("problem.npz").problem.unary).z.shape, best.z.shape)
END
[ -n "${TESTS-all}" ] || exit 0
"${pip[@]}" array-api-strict hypothesis pytest scipy PyMaxflow
OMP_NUM_THREADS=1 "$python" -m pytest -q -rs --confcutdir=tests ${TESTS:-tests/test_solvers_*.py}
