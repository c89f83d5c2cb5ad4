#!/usr/bin/env bash
# Every lesson becomes a notebook, which runs from top to bottom; a command that is none is told.
#
# usage: notebooks_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
export SHARDLINGS_ROOT=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    printf 'FAIL  %s\n' "$1"
    exit 1
}

if ! python3 -c 'import jupytext' 2>/dev/null; then
    "$1" book --notebooks 2>"$work/said" && fail "it makes notebooks without jupytext"
    grep -q 'pip install jupytext' "$work/said" || fail "without jupytext it says $(cat "$work/said")"
fi
for module in jupytext nbclient bash_kernel; do
    python3 -c "import $module" 2>/dev/null || { echo "$module is not installed"; exit 77; }
done
"$1" book --notebooks >"$work/said" 2>&1 || fail "$(cat "$work/said")"
grep -q 'bash_kernel.install' "$work/said" || fail "it does not say how to open them: $(cat "$work/said")"
for lesson in notebooks_md/[0-9][0-9]_*.md; do
    [ -e "build/notebooks/$(basename "$lesson" .md).ipynb" ] || fail "$lesson is no notebook"
done
if ! python3 -c 'import sys; from jupyter_client.kernelspec import find_kernel_specs as f; sys.exit("bash" not in f())'; then
    python3 course/book/notebooks.py --run build/notebooks 2>"$work/said" && fail "notebooks run without a kernel"
    grep -q 'bash_kernel.install' "$work/said" || fail "without a kernel it says $(cat "$work/said")"
    python3 -m bash_kernel.install --prefix "$work" >/dev/null || fail "the kernel cannot be installed"
    export JUPYTER_PATH=$work/share/jupyter
fi
python3 course/book/notebooks.py --run build/notebooks || fail "a command came to no verdict"

mkdir build/notebooks_wrong
trap 'rm -rf "$work" build/notebooks_wrong' EXIT
sed 's#\./shardlings run hello_ranks#./shardlings no_such_word#' build/notebooks/01_point_to_point.ipynb >build/notebooks_wrong/wrong.ipynb
python3 course/book/notebooks.py --run build/notebooks_wrong 2>"$work/said" && fail "a command that is none passes"
grep -q 'no_such_word.*: it ends with 2' "$work/said" || fail "it says $(cat "$work/said")"
