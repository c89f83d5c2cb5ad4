#!/usr/bin/env bash
# Every C++ file is as .clang-tidy asks. What passed is not looked at again before it, a header or the rules change:
# all files take a quarter of an hour. Those that include LibTorch are left out, by name: clang 14 cannot read
# LibTorch 1.13 as C++20. Ends with 6 where clang-tidy is not installed.
#
# usage: check_tidy.sh [TEXT]    only files whose path holds TEXT
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v clang-tidy >/dev/null; then
    echo "skipped: clang-tidy is not installed"
    exit 6
fi
export build=build/tidy seen=.shardlings/tidy rules
mkdir -p "$seen"
# clang cannot read what GCC precompiled, and each file is a case of its own
cmake --preset release -B "$build" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_UNITY_BUILD=OFF \
    >"$seen/cmake.log" || {
    cat "$seen/cmake.log"
    exit 2
}
cmake --build "$build" --target tests/harness/mpi_calls.cpp >/dev/null 2>&1 || true
rules=$(git ls-files -z '*.hpp' .clang-tidy | xargs -0 cat | sha256sum)

check() { # FILE
    if c++ -std=c++20 -I. -M -MG "$1" | grep -qE 'torch/|ATen/'; then
        echo "left out: $1 includes LibTorch"
        return 0
    fi
    local key
    key=$seen/$( (echo "$rules" && cat "$1") | sha256sum | cut -c1-32)
    [ -e "$key" ] && return 0
    echo "$1"
    clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p "$build" "$1" 2>"$key.err" || {
        grep -v 'warnings generated' "$key.err" || true
        return 1
    }
    touch "$key"
}
export -f check
git ls-files '*.cpp' | grep -E '^(course|solutions|tests)/' | grep -vE '^tests/(mutants|alternatives|harness/states|course/prove|cheats|honest)/' |
    grep -F -- "${1:-}" | xargs -P "$(nproc)" -I{} bash -c 'check "$1"' _ {}
