#!/usr/bin/env bash
# Flight records: a rank does something else than the others, and launch names it, the collective and the line.
#
# usage: flight_test.sh SHARDLINGS_CLI FLIGHT_FAULTS
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
faults=$(realpath "$2")
source=tests/course/flight_faults.cpp
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "flight: $*"
    failed=1
}
expect() { grep -qE -- "$1" "$work/out" || fail "$fault: there is no '$1': $(cat "$work/out")"; }
line_of() { grep -nF -- "$1" "$source" | cut -d: -f1; }

reduce="all_reduce\(100 float32, sum\) at [./]*$source:$(line_of 'the line of all_reduce')"
gather="all_gather\(100 float32\) at [./]*$source:$(line_of 'the line of all_gather')"
broadcast="broadcast\(10 float32, root 0\) at [./]*$source:$(line_of 'the line of broadcast')"

run_with() { # FAULT RANK STEP
    fault="$*"
    timeout 60 "$program" launch --nproc-per-node 4 --monitor-interval 0.5 -- "$faults" "$@" >"$work/out" 2>&1
}
findings() { grep -c 'group all, collective' "$work/out"; }
planted() { # FAULT RANK STEP WHAT-IS-SAID COLLECTIVE: in step s the broadcast has number 3s - 2, all_reduce 3s - 1
    local number=$((3 * $3 - 1))
    [[ $1 = skips || $1 = root ]] && number=$((number - 1))
    run_with "$1" "$2" "$3"
    expect "group all, collective $number: rank $2 $4.*$5"
    [ "$(findings)" = 1 ] || fail "$fault: others are named: $(cat "$work/out")"
}
run_with none 0 1
[ "$(findings)" = 0 ] || fail "$fault: somebody is named: $(cat "$work/out")"
planted skips 3 3 "skipped" "$broadcast, and went on with $reduce"
planted collective 1 4 "called $gather, and most others" "$reduce"
planted size 3 2 "called all_reduce\(60 float32, sum\)" "$reduce"
planted type 0 5 "called all_reduce\(100 bfloat16, sum\)" "$reduce"
planted op 2 6 "called all_reduce\(100 float32, max\)" "$reduce"
planted root 3 3 "called broadcast\(10 float32, root 1\)" "$broadcast"
planted killed 1 2 "left no record; others wait in" "$reduce"
planted exits 0 4 "left no record; others wait in" "$reduce"
planted throws 2 1 "did not start" "$reduce.*newest: $broadcast"
planted stopped 3 5 "did not start" "$reduce.*newest: $broadcast"
planted computes 1 6 "did not start" "$reduce.*newest: $broadcast"
planted slow 2 4 "came late to" "$reduce"

# --- and of a training

train=(--model small --train-size 96 --test-size 20 --batch 8 --steps 12)
fault="train, killed"
SHARDLINGS_FAULT=1:4:kill:1 timeout 100 "$program" launch --nproc-per-node 3 -- \
    train "${train[@]}" --checkpoint "$work/run" >"$work/out" 2>&1
expect 'group all, collective [0-9]*: rank 1 left no record; others wait in all_reduce\([0-9]* float32, mean\) at [./]*course/parallel/average.cpp:[0-9]*'
fault="train, as it should be"
timeout 100 "$program" train -n 2 "${train[@]}" --flight-records "$work/records" >"$work/out" 2>&1 || fail "$fault: it ends with $?"
timeout 100 "$program" train --diagnose "$work/records" >"$work/out" 2>&1 || fail "$fault: --diagnose ends with $?"
expect 'flight records of 2 ranks: they agree, and nobody is waited for'
fault="train --diagnose, no records"
timeout 100 "$program" train --diagnose "$work/run" >"$work/out" 2>&1 && fail "$fault: it ends well"
expect 'there are no flight records'
exit "$failed"
