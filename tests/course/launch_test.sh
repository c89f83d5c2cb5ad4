#!/usr/bin/env bash
# launch on one machine: a fault of each kind, and training ends as if nothing had been; how it ends where it cannot go on.
#
# usage: launch_test.sh SHARDLINGS_CLI
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
    echo "launch: $*"
    failed=1
}
expect() { grep -qF -- "$1" "$work/out" || fail "there is no '$1': $(tail -5 "$work/out")"; }
launch() { timeout 100 "$program" launch "$@" >"$work/out" 2>&1; }

# --- training

train=(train --model small --train-size 120 --test-size 20 --batch 8 --steps 12 --save-every 2 --timeout 3)
losses() { grep -o '"loss":[^,}]*' "$1"; }
train_with() { # FAULT NAME OPTION...: three ranks
    local fault=$1 name=$2
    shift 2
    SHARDLINGS_FAULT=$fault launch --nproc-per-node 3 --max-restarts 1 -- "${train[@]}" "$@" \
        --checkpoint "$work/$name" --log "$work/$name.log"
}
train_with "" whole || fail "an undisturbed run ends with $?: $(tail -5 "$work/out")"
expect 'round 1: 3 ranks'
grep -q 'round 2' "$work/out" && fail "an undisturbed run has a second round: $(cat "$work/out")"
for fault in 1:7:kill 0:8:exit 2:7:throw 1:5:stop 0:1:kill; do
    train_with "$fault:1" parts || fail "$fault: it ends with $?: $(tail -5 "$work/out")"
    expect 'round 2: 3 ranks; restart 1 of 1'
    cmp -s <(losses "$work/parts.log") <(losses "$work/whole.log") || fail "$fault: other losses"
    cmp -s "$work/parts/checkpoint.pt" "$work/whole/checkpoint.pt" || fail "$fault: another checkpoint"
    rm -rf "$work/parts" "$work/parts.log"
done
for parallel in zero1 zero2 zero3; do
    train_with "" "$parallel" --parallel "$parallel" || fail "$parallel ends with $?: $(tail -5 "$work/out")"
    train_with 1:7:kill:1 parts --parallel "$parallel" || fail "$parallel, killed: it ends with $?: $(tail -5 "$work/out")"
    cmp -s <(losses "$work/parts.log") <(losses "$work/$parallel.log") || fail "$parallel: other losses"
    rm -rf "$work/parts" "$work/parts.log"
done
train_with 1:7:kill:1 parts --async-save || fail "--async-save, killed: it ends with $?: $(tail -5 "$work/out")"
cmp -s <(losses "$work/parts.log") <(losses "$work/whole.log") || fail "--async-save: other losses"
[ "$(ls "$work/parts" | wc -l)" = 4 ] || fail "--async-save: not an index and three parts: $(ls "$work/parts")"
rm -rf "$work/parts" "$work/parts.log"
train_with 1:7:kill:1 parts >/dev/null
expect 'rank 1 died of SIGKILL'
rm -rf "$work/parts" "$work/parts.log"

# --- any program

ranks() { launch "$@" -- sh -c "$script"; }
script='echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $TORCHELASTIC_RESTART_COUNT'
ranks --nproc-per-node 2 || fail "two echoes end with $?"
expect '0 0 2 2 0'
expect '1 1 2 2 0'
script='[ $RANK = 0 ] || { echo "I cannot go on" >&2; exit 7; }; sleep 30'
status=0
ranks --nproc-per-node 2 --max-restarts 2 || status=$?
[ "$status" -eq 7 ] || fail "a worker ends with 7, launch with $status"
expect 'rank 1 ended with 7'
expect 'I cannot go on'
expect 'all 2 restarts are used up'
[ "$(grep -c 'round [0-9]*: 2 ranks' "$work/out")" = 3 ] || fail "not three rounds: $(cat "$work/out")"
kept=$(sed -n 's/.*what workers said is in //p' "$work/out")
grep -rq 'I cannot go on' "$kept" || fail "its words are not kept in '$kept'"
rm -rf "$kept"
status=0
script='kill -SEGV $$'
ranks || status=$?
[ "$status" -eq 139 ] || fail "a worker died of SIGSEGV, and launch ends with $status"
expect '--max-restarts is 0'
rm -rf "$TMPDIR"/shardlings-launch-*

# the others end when rank 0 no longer ends by TERM
script='if [ $RANK = 0 ]; then trap "" TERM; touch "$TMPDIR/deaf"; sleep 0.5; echo "rank 0 speaks for all" >&2; exit 2; fi
    until [ -e "$TMPDIR/deaf" ]; do sleep 0.05; done; exit 2'
ranks --nproc-per-node 3
expect 'rank 0 speaks for all'
rm -rf "$TMPDIR/deaf" "$TMPDIR"/shardlings-launch-*

# --- where it meets

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }
if [ -s /proc/net/if_inet6 ]; then
    port=$(free_port)
    script='echo "$MASTER_ADDR $MASTER_PORT"'
    ranks --rdzv-endpoint "[::1]:$port" || fail "[::1]:$port ends with $?: $(cat "$work/out")"
    expect "::1 $port"
    ranks --rdzv-endpoint ::1 || fail "::1 ends with $?: $(cat "$work/out")"
    expect '::1 29400'
fi
port=$(free_port)
timeout 60 "$program" launch --rdzv-id first --rdzv-endpoint "127.0.0.1:$port" -- \
    sh -c "echo begun; until [ -e '$work/go' ]; do sleep 0.1; done" >"$work/first" 2>&1 &
for _ in $(seq 200); do
    grep -q begun "$work/first" && break
    sleep 0.1
done
script='echo mine'
ranks --rdzv-id second --rdzv-endpoint "127.0.0.1:$port" || fail "a second job at one store ends with $?"
expect "the store at 127.0.0.1:$port is job first's, and ends with it"
touch "$work/go"
wait $! || fail "the first of two jobs at one store ends with $?: $(cat "$work/first")"
grep -q 'and ends with it' "$work/first" && fail "the first job is warned: $(cat "$work/first")"

# --- signals

script='trap "echo told; exit 0" TERM INT; echo begun; while :; do sleep 0.1; done'
for signal in INT TERM USR1 USR2; do
    timeout 120 "$program" launch --nproc-per-node 2 -- sh -c "$script" >"$work/out" 2>&1 &
    for _ in $(seq 900); do
        [ "$(grep -c begun "$work/out")" = 2 ] && break
        sleep 0.1
    done
    kill -$signal "$(pgrep -f "^[^ ]*/launch .*trap" | head -1)"
    status=0
    wait $! || status=$?
    [ "$status" -eq $((128 + $(kill -l $signal))) ] || fail "SIG$signal: it ends with $status"
    [ "$(grep -cx told "$work/out")" = 2 ] || fail "SIG$signal does not come to the workers: $(cat "$work/out")"
done
# an agent that is killed takes its workers with it
script='sleep 47.11'
timeout 60 "$program" launch --nproc-per-node 2 -- sh -c "exec $script" >"$work/out" 2>&1 &
for _ in $(seq 200); do
    [ "$(pgrep -fc "^$script")" = 2 ] && break
    sleep 0.1
done
pkill -KILL -f "^[^ ]*/launch .*$script"
wait $!
sleep 0.5
pgrep -f "^$script" >/dev/null && fail "workers outlive their agent"
rm -rf "$TMPDIR"/shardlings-launch-*

# --- what cannot be

refused() { # SENTENCE WORD...
    local sentence=$1 status=0
    shift
    launch "$@" || status=$?
    [ "$status" -eq 2 ] || fail "$*: it ends with $status"
    expect "$sentence"
}
refused 'there is no program' --nproc-per-node 2
refused 'give N, or MIN:MAX' --nnodes 4:1 -- true
refused 'give N, or MIN:MAX' --nnodes x -- true
refused 'needs --rdzv-endpoint' --nnodes 2 -- true
refused 'give HOST:PORT' --nnodes 2 --rdzv-endpoint :1 -- true
refused 'give HOST:PORT' --rdzv-endpoint '[::1' -- true
refused 'give HOST:PORT' --rdzv-endpoint '[::1]:0' -- true
refused '--nprocs: launch has no such option' --nprocs 3 -- true
refused 'needs --checkpoint' -- train --steps 3
refused '--rdzv-conf patience=3' --rdzv-conf patience=3 -- true
refused '--rdzv-conf is_host=perhaps' --rdzv-conf join_timeout=3 --rdzv-conf is_host=perhaps -- true
refused '--modell' -- train --modell small
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left: $(ls -A "$TMPDIR")"
exit "$failed"
