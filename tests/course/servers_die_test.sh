#!/usr/bin/env bash
# train --parallel ps: each of two servers dies at each moment of a step. Both workers, and the other server, end with one line
# that names it, and long before the deadline of their calls.
#
# usage: servers_die_test.sh SHARDLINGS_CLI START_RANKS TRAINER
# shellcheck disable=SC2317  # functions are called by name
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1") starter=$(realpath "$2") trainer=$(realpath "$3")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "servers_die: $*"
    failed=1
}
# Ranks 0 and 1 are workers, 2 and 3 servers. Nobody ends them: start_ranks serves the store, and its only rank is their parent.
cat >"$work/four" <<'END'
export WORLD_SIZE=4
for rank in 0 1 2 3; do
    (RANK=$rank "$@" >"$WORK/$rank" 2>&1; echo $? >"$WORK/$rank.status") &
done
wait
END
small=(--model gpt --context 16 --layers 1 --width 16 --heads 2 --train-size 40 --test-size 4 --batch 2)
wide=(--model gpt --context 4 --layers 1 --width 1024 --heads 2 --train-size 40 --test-size 4 --batch 1) # 25 MB a server
pid_of() { # RANK: its process that trains or serves
    for pid in $(pgrep -f "$trainer .*--log $work/log"); do
        grep -zqx "RANK=$1" "/proc/$pid/environ" 2>/dev/null && ! pgrep -P "$pid" >/dev/null && echo "$pid"
    done
}
until_it() { # CONDITION...: waits for it
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.05
    done
    fail "$moment, rank $server: in vain: $*"
}
stands() { grep -qs '^State:.T' "/proc/$(pid_of "$1")/status"; }
stand() { stands 0 && stands 1; }
go_on() { for rank in "$@"; do kill -CONT "$(pid_of "$rank")"; done; }
ended() { [ -s "$work/$1.status" ]; }
has_unread() { # more than 100 kB wait at the server, which does not read
    local pid
    pid=$(pid_of "$server")
    find "/proc/$pid/fd" -printf '%l\n' 2>/dev/null | sed -n 's/^socket:\[\(.*\)]$/\1/p' | awk '
        NR == FNR { is_its[$1] = 1; next }
        $10 in is_its { split($5, queues, ":"); if (queues[2] > "000186A0") found = 1 }
        END { exit !found }' - "/proc/$pid/net/tcp"
}
moment=none
die() { # MOMENT FAULT ACT OPTION...: at that fault, ACT goes on; three steps
    moment=$1
    local fault=$2 act=$3
    shift 3
    for server in 2 3; do
        rm -f "$work"/[0-3]* "$work/log"
        WORK=$work SHARDLINGS_FAULT=${fault//SERVER/$server} timeout 100 "$starter" 1 bash "$work/four" \
            "$trainer" --parallel ps --servers 2 --steps 3 --timeout 3600 --log "$work/log" "$@" >"$work/out" 2>&1 &
        local run=$!
        $act
        wait "$run" || fail "$moment, rank $server: the run ends with $?: $(tail -2 "$work"/[0-3])"
        for rank in 0 1 2 3; do
            local status line
            status=$(cat "$work/$rank.status")
            line=$(grep "^rank $rank: " "$work/$rank")
            if [ "$rank" = "$server" ]; then
                [ "$status" = 137 ] || fail "$moment, rank $server: it ends with $status"
            elif [ "$status" != 1 ] || [ "$line" != "rank $rank: the parameter server on rank $server has died, and its share of the weights with it" ]; then
                fail "$moment, rank $server: rank $rank ends with $status: $(tail -3 "$work/$rank")"
            fi
        done
        pgrep -f "$trainer .*--log $work/log" >/dev/null && fail "$moment, rank $server: processes live on"
    done
}

kill_it() { kill -KILL "$(pid_of "$server")"; }
before_all() {
    until_it stand
    kill_it
    go_on 0 1
}
die 'before the first pull' 0:1:stop:,1:1:stop: before_all "${small[@]}"

die 'between push and pull' SERVER:2:kill: true "${small[@]}"

in_a_message() {
    until_it stand
    kill -STOP "$(pid_of "$server")"
    go_on 0 1
    until_it has_unread
    kill_it
}
die 'in the middle of a push' 0:1:stop:,1:1:stop: in_a_message "${wide[@]}"

while_one_waits() {
    until_it stand
    go_on 0
    sleep 0.5 # it takes step 2, and waits for worker 1
    kill_it
    until_it ended 0
    go_on 1
}
die 'while a worker waits' 0:2:stop:,1:1:stop: while_one_waits "${small[@]}" --staleness 1

die 'at the end' SERVER:4:kill: true "${small[@]}"

# Who starts ranks sees it first, and ends them all: then it is its line.
SHARDLINGS_FAULT=3:2:kill: timeout 100 "$program" train -n 4 --transport tcp --parallel ps --servers 2 --steps 3 "${small[@]}" >"$work/out" 2>&1
status=$?
[ "$status" -eq 137 ] || fail "train ends with $status: $(tail -3 "$work/out")"
[ "$(grep -E '^(rank|train)' "$work/out")" = 'rank 3 died of SIGKILL' ] || fail "train says: $(tail -3 "$work/out")"
exit "$failed"
