#!/usr/bin/env bash
# Installs the lowest versions that pyproject.toml allows into an environment of their own, and runs the solvers' tests.
# Usage: scripts/lowest_versions.sh [ENVIRONMENT], default .venv-lowest; more tests: TESTS='tests/test_models_*.py'.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:-.venv-lowest}

"${PYTHON:-python3}" -m venv --clear "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check uv
uv=("$environment/bin/uv" pip)
"${uv[@]}" compile --quiet --resolution lowest-direct --extra cplex --extra dev pyproject.toml --output-file "$environment/lowest.txt"
"${uv[@]}" install --quiet --python "$environment/bin/python" --requirement "$environment/lowest.txt"

# Old packages warn of what Python has changed since.
export OMP_NUM_THREADS=1
# shellcheck disable=SC2086  # several files
"$environment/bin/python" -m pytest -q -W default ${TESTS:-tests/test_solvers_*.py}
