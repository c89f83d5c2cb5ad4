#!/usr/bin/env bash
# The set-up names each missing package once, whatever needs it. In a folder of programs without apt-get: nothing is installed.
set -u
cd "$(dirname "$0")/../.." || exit 70
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in sh dirname python3; do
    ln -s "$(command -v $tool)" "$work/$tool"
done
PATH=$work scripts/setup.sh simulate grade test 2>"$work/said" && { echo 'FAIL  nothing is missing'; exit 1; }
for package in libsimgrid-dev bubblewrap tmux; do
    times=$(grep -o -- " $package\b" "$work/said" | wc -l)
    [ "$times" = 1 ] || { echo "FAIL  $package is named $times times:"; cat "$work/said"; exit 1; }
done
