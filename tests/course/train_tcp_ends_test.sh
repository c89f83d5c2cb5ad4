#!/usr/bin/env bash
# How train --transport tcp ends where it is not done: one line says why, and nothing is left.
#
# usage: train_tcp_ends_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "train_tcp_ends: $*"
    failed=1
}
line=("$program" train -n 3 --transport tcp --model small --train-size 96 --test-size 30 --batch 8)
expect() { grep -qF -- "$1" "$work/out" || fail "there is no '$1': $(tail -4 "$work/out")"; }
speaks_once() { # what ranks and trainer say of an end
    [ "$(grep -cE '^(rank [0-9]|train:)' "$work/out")" = 1 ] || fail "not one line: $(grep -E '^(rank|train)' "$work/out")"
}
ranks() { pgrep -P "$(pgrep -f "start_ranks 3 .*--checkpoint $work/run")"; }
# Runs for ever with these options; once it has saved, does $1.
run_until() {
    local act=$1 run
    shift
    rm -rf "$work/run"
    timeout 200 "${line[@]}" --steps 1000000 --checkpoint "$work/run" --save-every 2 "$@" >"$work/out" 2>&1 &
    run=$!
    for _ in $(seq 1200); do
        [ -e "$work/run/checkpoint.pt" ] && break
        sleep 0.1
    done
    processes=$(ranks)
    processes="$processes $(for rank in $processes; do pgrep -P "$rank"; done)"
    $act "$run"
    wait "$run"
    status=$?
    for process in $processes; do
        kill -0 "$process" 2>/dev/null && fail "a process lives on after: $act"
    done
}
second() { pgrep -P "$(ranks | sed -n 2p)"; } # the trainer of rank 1; its parent tells of its death

kill_second() { kill -KILL "$(second)"; }
run_until kill_second
[ "$status" -eq 137 ] || fail "a rank was killed, and train ends with $status"
expect 'rank 1 died of SIGKILL'
expect "to go on:  ./shardlings train -n 3 --transport tcp --model small"
speaks_once

stop_second() { kill -STOP "$(second)"; }
run_until stop_second --timeout 3
[ "$status" -eq 1 ] || fail "a rank is stopped, and train ends with $status"
expect 'rank 1 stopped, or too slow'
speaks_once

interrupt() { kill -INT "$(pgrep -P "$1" -f "$program")"; }
run_until interrupt
[ "$status" -eq 130 ] || fail "it is interrupted, and ends with $status"
expect "to go on:  ./shardlings train -n 3 --transport tcp --model small"
grep -qE '^rank ' "$work/out" && fail "ranks speak of the interruption: $(grep '^rank' "$work/out")"

# and goes on, for each way to share the work
for parallel in average ddp zero1 zero2 zero3; do
    timeout 200 "${line[@]}" --parallel "$parallel" --steps 6 --checkpoint "$work/$parallel" --stop-after 3 >"$work/out" 2>&1 ||
        fail "$parallel ends with $?: $(tail -3 "$work/out")"
    bash -c "$(sed -n 's/^to go on:  //p' "$work/out")" >"$work/rest" 2>&1 || fail "$parallel goes on with $?: $(tail -3 "$work/rest")"
    grep -q 'going on after step 3 of 6' "$work/rest" || fail "$parallel does not go on: $(tail -3 "$work/rest")"
done

refused() { # STATUS SENTENCE OPTION...
    local wanted=$1 sentence=$2 is
    shift 2
    timeout 100 "${line[@]}" --steps 2 "$@" >"$work/out" 2>&1
    is=$?
    [ "$is" -eq "$wanted" ] || fail "$*: it ends with $is"
    expect "$sentence"
}
refused 2 '--transport' --transport udp
refused 2 '--device cpu' --device cuda --parallel ddp
refused 2 '--parallel dp is one process' --parallel dp

# what cannot be written is said
if [ -e /dev/full ]; then
    timeout 200 "${line[@]}" --steps 2 >/dev/full 2>"$work/out" && fail "a full disk is no failure"
    expect 'standard output: '
fi
exit "$failed"
