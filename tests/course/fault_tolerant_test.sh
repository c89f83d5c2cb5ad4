#!/usr/bin/env bash
# train --fault-tolerant: a replica is killed, the others take the next steps without it and without a restart, it comes back and
# heals; the losses are those of one process with the same global batch, and all replicas end with the same bits.
#
# usage: fault_tolerant_test.sh SHARDLINGS_CLI
# shellcheck disable=SC2046,SC2086  # words are meant to be split
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "fault_tolerant: $*"
    failed=1
}
expect() { grep -qF -- "$1" "$work/out" || fail "there is no '$1': $(tail -5 "$work/out")"; }
processes() { pgrep -f "$work/$name/run"; }
processes_of() { # RANK
    for pid in $(processes); do
        grep -zqx "RANK=$1" "/proc/$pid/environ" 2>/dev/null && echo "$pid"
    done
}

# --- a fault, and what came of it

# A ReLU near 0 may fall to the other side by rounding: plain averaging then is up to 1e-3 off, too. The text's model has none.
# One dies in step 20. Another stands still in step 40, so that the run is not over when the first one is back.
try() { # NAME DIES STANDS TOLERANCE WORD...: on three ranks
    name=$1 dies=$2 stands=$3 tolerance=$4
    shift 4
    mkdir "$work/$name"
    timeout 100 "$program" train -n 1 --transport tcp --parallel none "$@" --steps 60 --log "$work/$name/whole" >"$work/out" 2>&1 ||
        fail "$name: the run of one process ends with $?: $(tail -3 "$work/out")"
    SHARDLINGS_FAULT=$dies:20:kill:1,$stands:40:stop:1 timeout 100 "$program" launch --nproc-per-node 3 --max-restarts 1 -- \
        train --fault-tolerant "$@" --steps 60 --checkpoint "$work/$name/run" --log "$work/$name/log" >"$work/out" 2>&1 &
    for _ in $(seq 900); do
        [ -e "$work/$name/log.$dies.2" ] && break
        sleep 0.1
    done
    sleep 1 # it asks for a quorum
    kill -CONT $(processes_of "$stands")
    wait $! || fail "$name ends with $?: $(tail -5 "$work/out")"
    expect "rank $dies died of SIGKILL; the others go on"
    expect "rank $dies starts; restart 1 of 1"
    expect '3 of 3 ranks have ended well'
    [ "$(grep -c 'starts; restart' "$work/out")" = 1 ] || fail "$name: others were started again: $(cat "$work/out")"
    for replica in 1 2; do
        cmp -s "$work/$name/run/replica-0/checkpoint.pt" "$work/$name/run/replica-$replica/checkpoint.pt" ||
            fail "$name: replica $replica ends with other bits"
    done
    processes >/dev/null && fail "$name: processes live on: $(pgrep -af "$work/$name/run")"
    python3 - "$work/$name" "$dies" "$tolerance" <<'END' || failed=1
import json, sys
folder, dies, tolerance = sys.argv[1:]
def losses(name):
    records = [json.loads(line) for line in open(f"{folder}/{name}")]
    return {r["step"]: r["loss"] for r in records if "loss" in r and "test_accuracy" not in r}
def check(holds, text):
    if not holds:
        sys.exit(f"fault_tolerant: {text}")
whole = losses("whole")
others = [f"log.{rank}.1" for rank in range(3) if str(rank) != dies]
lives = [f"log.{dies}.1", f"log.{dies}.2"]
taken = losses(others[0])
check(list(taken) == list(range(1, 61)), f"steps of {others[0]}: {list(taken)}")
check(list(losses(lives[0])) == list(range(1, 20)), f"steps before the death: {list(losses(lives[0]))}")
back = list(losses(lives[1]))
check(back == list(range(back[0], 61)) and back[0] > 20, f"steps after the return: {back}")
for log in others + lives:
    check(all(taken[step] == loss for step, loss in losses(log).items()), f"{log} has other losses than {others[0]}")
off = max(abs(taken[step] - loss) / loss for step, loss in whole.items())
print(f"losses of 60 steps: at most {off:.1e} off those of one process; replica {dies} is back from step {back[0]} on")
first = next((step for step, loss in whole.items() if abs(taken[step] - loss) > 1e-5 * loss), None)
check(off < float(tolerance), f"losses are {off:.1e} off, from step {first} on")
END
}
try pictures 1 2 1e-2 --model small --rate 0.01 --train-size 400 --test-size 20 --global-batch 12
try text 0 1 1e-5 --model gpt --context 16 --layers 1 --width 16 --heads 2 --train-size 300 --test-size 10 --global-batch 8 --optimizer adamw

# --- nobody comes back

name=alone
SHARDLINGS_FAULT=0:5:exit:1,1:5:kill:1,2:9:throw:1 timeout 100 "$program" launch --nproc-per-node 4 -- train --fault-tolerant \
    --model small --train-size 120 --test-size 20 --global-batch 12 --steps 12 --log "$work/log" >"$work/out" 2>&1 ||
    fail "three of four die, and it ends with $?: $(tail -5 "$work/out")"
expect '1 of 4 ranks have ended well'
[ "$(grep -c '"rate"' "$work/log.3.1")" = 12 ] || fail "the last one has no 12 steps: $(cut -c 1-20 "$work/log.3.1")"
rm -rf "$TMPDIR"/shardlings-launch-*

# --- what cannot be

refused() { # SENTENCE WORD...
    local sentence=$1 status=0
    shift
    timeout 100 "$program" "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$*: it ends with $status"
    expect "$sentence"
}
refused 'launch --nproc-per-node 3' train --fault-tolerant --global-batch 12
refused 'needs --global-batch' launch -- train --fault-tolerant
refused '--parallel average' launch -- train --fault-tolerant --global-batch 12 --parallel zero3
refused 'does not go with --accumulate' launch -- train --fault-tolerant --global-batch 12 --accumulate 2
refused 'not with --nnodes' launch --nnodes 2 --rdzv-endpoint localhost:29400 -- train --fault-tolerant --global-batch 12
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"
exit "$failed"
