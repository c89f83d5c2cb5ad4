#!/usr/bin/env bash
# scripts/gradescope/run_autograder, as Gradescope calls it: a submission in, results.json out. gradescope_test.sh ROOT
set -euo pipefail
root=$1
command -v bwrap >/dev/null && bwrap --unshare-all --ro-bind / / true 2>/dev/null || { echo "no sandbox here"; exit 77; }
autograder=$(mktemp -d)
trap 'rm -rf "$autograder"' EXIT
mkdir -p "$autograder/submission/deep/er" "$autograder/source"
ln -s "$root" "$autograder/shardlings"
cp "$root/solutions/01_point_to_point/chunk_bounds.cpp" "$autograder/submission/deep/er"
echo "--exercises chunk_bounds,ring_shift" >"$autograder/source/options"
AUTOGRADER=$autograder "$root/scripts/gradescope/run_autograder" >/dev/null
python3 - "$autograder/results/results.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
assert results["score"] == 1, results
assert [test["status"] for test in results["tests"]] == ["passed", "failed"], results
assert "was not handed in" in results["tests"][1]["output"], results
PYTHON

# the same from a zip made on Windows: each line ends with CR LF
mkdir "$autograder/dos"
for file in "$root/scripts/gradescope/run_autograder" "$autograder/source/options"; do
    sed 's/$/\r/' "$file" >"$autograder/dos/${file##*/}"
done
cp "$autograder/dos/options" "$autograder/source/options"
chmod +x "$autograder/dos/run_autograder"
rm "$autograder/results/results.json"
AUTOGRADER=$autograder "$autograder/dos/run_autograder" >/dev/null
python3 - "$autograder/results/results.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
assert results["score"] == 1, results
PYTHON

# where nothing can be graded, no submission is blamed, and the instructor is told why
echo "--exercises no_such_exercise" >"$autograder/source/options"
AUTOGRADER=$autograder "$root/scripts/gradescope/run_autograder" >/dev/null
python3 - "$autograder/results/results.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
assert "no fault of yours" in results["output"], results
assert "no_such_exercise" in results["tests"][0]["output"], results
assert results["tests"][0]["visibility"] == "hidden", results
PYTHON
echo "results.json says what it should"
