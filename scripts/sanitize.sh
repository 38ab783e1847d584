#!/usr/bin/env bash
# Analyses the kernels with clang-tidy, whose static analyser explores many paths. Then runs the solvers' tests and
# fuzzed calls while AddressSanitizer and UndefinedBehaviorSanitizer watch the kernels.
# Slow: the kernels are compiled anew, into build/sanitized, and run several times slower.
# Usage: scripts/sanitize.sh [TEST ...], default the solvers' tests, after `make kernels`; COUNT=5000 fuzzed calls.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-$PWD/.venv/bin}
[ $# -gt 0 ] || set -- tests/test_solvers_*.py

export PATH="$bin:$PATH" PYTHONPATH="$PWD" OMP_NUM_THREADS=1
scripts/tidy.sh
cmake --log-level=WARNING -S . -B build/sanitized -G Ninja -DCMAKE_BUILD_TYPE=Debug -DSANITIZE=ON \
  -DPython_EXECUTABLE="$bin/python"
cmake --build build/sanitized

# The first finding ends the process. Python itself leaks, and some tests ask for more memory than there is.
watched=(
  env "LD_PRELOAD=$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so)"
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=6144 UBSAN_OPTIONS=print_stacktrace=1
  STRUCTURED_VAE_KERNEL_FOLDER="$PWD/build/sanitized/solvers/compiled/_kernels" "$bin/python"
)
# Left out: a limit of memory that the sanitizers themselves exceed, and a time limit that watched kernels miss.
"${watched[@]}" -m pytest -q -p no:cacheprovider \
  -k "not a_limit_of_the_process_leaves_no_more and not shorter_than_the_search_for_an_order" "$@"
"${watched[@]}" -m scripts.fuzz --count "${COUNT:-5000}"
