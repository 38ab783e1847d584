#!/usr/bin/env bash
# Checks the kernels with clang-tidy, after `make kernels`. Usage: scripts/tidy.sh [OPTION of clang-tidy ...]
# It checks five joined files, two of bindings and three of kernels, since 76 files would read the same headers again.
# Thus two kernels of one namespace may not define the same name. After a finding it checks file by file, to say where.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${BIN:-$PWD/.venv/bin}
folder=build/in_place/tidy
tidy=("$bin/clang-tidy" -p "$folder" --quiet "$@")

rm -rf "$folder"
mkdir -p "$folder"
# Warnings are errors to g++ alone, whose options clang does not all know.
sed 's/ -Werror\b//g; s/ -Wno-maybe-uninitialized\b//g' build/in_place/compile_commands.json >"$folder/compile_commands.json"
join() {  # the files named on standard input into $2 files, whose names begin with $1
  awk -v name="$folder/$1" -v count="$2" '{
    joined = name "_" NR % count ".cpp"
    print "#line 1 \"" $0 "\"" >joined
    while ((getline line <$0) > 0) print line >joined
  }'
}
git ls-files '*/bindings.cpp' | join bindings 2
git ls-files '*.cpp' | grep -v '/bindings\.cpp$' | join kernels 3
if ! printf '%s\0' "$folder"/*.cpp | xargs -0 -P 2 -n 1 "${tidy[@]}" >"$folder/findings" 2>&1; then
  git ls-files -z '*.cpp' | xargs -0 -P 2 -n 4 "${tidy[@]}"
  cat "$folder/findings"
  exit 1
fi
