#!/usr/bin/env bash
# launch with three agents, as on three nodes, which all are this machine: one is told to end while it waits for others, one is
# killed, the one that serves the store is; and a rank that stood still wakes up when others have gone on.
#
# usage: launch_agents_test.sh SHARDLINGS_CLI
# shellcheck disable=SC2317  # what the trap calls is reached
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
failed=0
fail() {
    echo "launch_agents: $*"
    failed=1
}
declare -A agent=()
end() {
    kill -KILL "${agent[@]}"
    wait
    rm -rf "$work"
} 2>/dev/null
trap end EXIT

job() { # NODES OPTION...: of the agents that are started from now on, at a store of their own
    nodes=$1
    options=("${@:2}")
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    rm -f "$work"/?
}
start() { # NAME SCRIPT: an agent, and of two workers each what they do
    "$program" launch --nnodes "$nodes" --nproc-per-node 2 --rdzv-id job --rdzv-endpoint "127.0.0.1:$port" "${options[@]}" \
        -- sh -c "$2" >/dev/null 2>"$work/$1" &
    agent[$1]=$!
}
wait_for() { # WHAT: until the command holds
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.1
    done
    fail "it never came to this: $*: $(tail -n 5 "$work"/?)"
}
told() { grep -q -- "$2" "$work/$1"; }
gone() { ! kill -0 "${agent[$1]}" 2>/dev/null; }
ends() { # NAME STATUS
    local status=0
    wait_for gone "$1"
    wait "${agent[$1]}" || status=$?
    [ "$status" -eq "$2" ] || fail "agent $1 ends with $status: $(cat "$work/$1")"
    unset "agent[$1]"
}
some() { pgrep -f "^sleep $1\$" >/dev/null; } # of the workers that sleep so long
none() { ! some "$1"; }

# --- one is told to end while it waits: it leaves, and the next round begins without it, at once

job 3
start a true
wait_for told a 'waits at'
start b true
wait_for told b 'waits at'
sleep 1 # b is in by now
kill -TERM "${agent[b]}"
ends b 143
for name in c d; do start $name true; done
for name in a c d; do
    ends $name 0
    told $name 'round 1: 6 ranks on 3 nodes' || fail "agent $name was in no round 1 of three: $(cat "$work/$name")"
done

# --- the one that is to serve the store comes last; and there is no other on its port

job 2 --rdzv-conf is_host=false
start a true
sleep 1 # it would be the first
options=(--rdzv-conf join_timeout=60 --rdzv-conf is_host=true)
start b true
for name in a b; do ends $name 0; done
python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); time.sleep(20)' "$port" &
taken=$!
wait_for python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])))' "$port" 2>/dev/null
start c true
ends c 1
told c "$port" || fail "agent c does not name the port: $(cat "$work/c")"
kill "$taken"
wait "$taken" 2>/dev/null

# --- one is killed: its workers die with it, and the others go on in a new round, at no cost

job 2:3 --rdzv-conf last_call_timeout=2,keep_alive_interval=0.5
start a "[ -e $work/killed ] || exec sleep 47.$$"
wait_for told a 'waits at' # it is the first, and serves the store
start b "[ -e $work/killed ] || exec sleep 47.$$"
start c "exec sleep 48.$$"
wait_for told a 'on 3 nodes'
wait_for some "48.$$"
touch "$work/killed"
kill -KILL "${agent[c]}"
ends c 137
wait_for none "48.$$"
for name in a b; do
    ends $name 0
    told $name 'is over: a node has come, or gone' || fail "agent $name did not notice: $(cat "$work/$name")"
    grep 'round .* ranks' "$work/$name" | tail -n 1 | grep -q '4 ranks on 2 nodes' || fail "agent $name: $(cat "$work/$name")"
    told $name restart && fail "it cost a restart: $(cat "$work/$name")"
done

# --- the one that serves the store is killed: the job ends, and each of the others names the store, once

job 3
for name in a b c; do
    start $name "exec sleep 49.$$"
    wait_for told a 'waits at' # it is the first, and serves the store
done
for name in b c; do wait_for told $name 'round 1: 6 ranks on 3 nodes'; done
kill -KILL "${agent[a]}"
ends a 137
for name in b c; do
    ends $name 1
    [ "$(grep -c "TcpStore: 127.0.0.1:$port .*: the workers are told to end\$" "$work/$name")" = 1 ] ||
        fail "agent $name does not name the store: $(cat "$work/$name")"
    [ "$(wc -l <"$work/$name")" = "$(grep -c '^launch: ' "$work/$name")" ] || fail "agent $name says more: $(cat "$work/$name")"
done

# --- a rank stands still, another job goes on from its checkpoint, and the rank wakes up: it saves nothing any more

train=(train --model small --train-size 96 --test-size 30 --batch 8 --steps 100000 --save-every 1 --checkpoint "$work/run")
trained() { [ -e "$work/log" ] && [ "$(wc -l <"$work/log")" -ge 5 ]; }
"$program" launch -- "${train[@]}" --log "$work/log" >/dev/null 2>"$work/a" &
agent[a]=$!
wait_for trained
rank=$(pgrep -P "${agent[a]}" -f "^[^ ]*/trainer_own .*$work/run")
kill -STOP "$rank"
"$program" launch -- "${train[@]}" --stop-after 60 >"$work/b" 2>&1 || fail "the next job ends with $?: $(tail -n 5 "$work/b")"
grep -q 'going on after step' "$work/b" || fail "the next job does not go on: $(cat "$work/b")"
cp "$work/run/checkpoint.pt" "$work/saved"
kill -CONT "$rank"
ends a 1
told a 'another run has gone on from it' || fail "it is not told why: $(cat "$work/a")"
cmp "$work/saved" "$work/run/checkpoint.pt" || fail "it has saved all the same"
[ "$(ls "$work/run")" = checkpoint.pt ] || fail "files are left: $(ls "$work/run")"

for seconds in 47 48 49; do none "$seconds.$$" || fail "workers live on: $(pgrep -af "^sleep $seconds.$$\$")"; done
exit "$failed"
