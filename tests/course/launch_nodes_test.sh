#!/usr/bin/env bash
# launch on 1, then 4, then 2 nodes during one training: network namespaces of this machine on one bridge. Two join, and later
# two are cut off. The losses are those of a run that nothing disturbs. Where users may have namespaces it needs no root.
#
# usage: launch_nodes_test.sh SHARDLINGS_CLI PARALLEL
# shellcheck disable=SC2086,SC2317  # words are meant to be split; what the trap calls is reached
set -u
skip() { echo "$1: nodes were not tried"; exit 77; }

if [ "$1" != on_node1 ]; then
    cd "$(dirname "$0")/../.." || exit 70
    for program in unshare nsenter ip; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    spaces="--net --uts"
    [ "$(id -u)" -eq 0 ] || spaces="--user --map-root-user $spaces"
    unshare $spaces ip link add probe0 type bridge 2>/dev/null ||
        skip "this machine lets nobody have network namespaces"
    exec unshare $spaces bash "$0" on_node1 "$(realpath "$1")" "$2"
fi
program=$2 parallel=$3
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
failed=0
fail() {
    echo "launch_nodes: $*"
    failed=1
}
nodes=() agents=()
end() {
    kill "${agents[@]}" "${nodes[@]}"
    wait
    rm -rf "$work"
} 2>/dev/null
trap end EXIT

ip link add bridge type bridge
ip address add 10.77.0.1/24 dev bridge
ip link set lo up
ip link set bridge up
for node in 2 3 4; do
    unshare --net --uts sleep 3600 &
    nodes[node]=$!
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
    ip link add wire$node type veth peer name wire netns $!
    ip link set wire$node master bridge up
    nsenter --target $! --net ip address add 10.77.0.$node/24 dev wire
    nsenter --target $! --net ip link set lo up
    nsenter --target $! --net ip link set wire up
done
on_node() {
    local node=$1
    shift
    if [ "$node" = 1 ]; then exec "$@"; else exec nsenter --target "${nodes[node]}" --net --uts "$@"; fi
}

steps=600
words="train --model gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 940 --test-size 30 --global-batch 12
    --rate 0.01 --steps $steps"
timeout 300 "$program" $words --parallel none -n 1 --log "$work/whole" >/dev/null 2>"$work/out" ||
    fail "the undisturbed run ends with $?: $(tail -3 "$work/out")"

start() { # the agent of a node; the first has its own name by loopback, as Debian writes it into /etc/hosts
    local store=10.77.0.1
    [ "$1" = 1 ] && store=127.0.1.1
    (on_node "$1" timeout 300 "$program" launch --nnodes 1:4 --max-restarts 3 --rdzv-id job --rdzv-endpoint $store:29400 \
        --rdzv-conf last_call_timeout=0.3,keep_alive_interval=0.3 --grace 2 -- \
        $words --parallel "$parallel" --checkpoint "$work/run" --save-every 5 --log "$work/log" \
        >"$work/out$1" 2>"$work/story$1") &
    agents[$1]=$!
}
wait_for() { # SECONDS WHAT: until the command holds
    local seconds=$1
    shift
    for _ in $(seq $((10 * seconds))); do
        "$@" && return
        kill -0 "${agents[1]}" 2>/dev/null || break
        sleep 0.1
    done
    fail "it never came to this: $*: $(tail -5 "$work/story1")"
}
told() { grep -q "$1" "$work/story1"; }
saved_after() { [ -e "$work/run/checkpoint.pt" ] && [ "$work/run/checkpoint.pt" -nt "$1" ]; }

start 1
wait_for 60 told 'round 1: 1 rank on 1 node'
wait_for 60 saved_after "$work/whole"
for node in 2 3 4; do start $node; done
wait_for 60 told '4 ranks on 4 nodes'
touch "$work/all_there"
wait_for 60 saved_after "$work/all_there"
ip link set wire3 down
ip link set wire4 down
wait_for 60 told '2 ranks on 2 nodes'
for node in 1 2; do
    wait "${agents[node]}" || fail "node $node ends with $?: $(tail -5 "$work/story$node")"
done
for node in 3 4; do
    wait "${agents[node]}" && fail "node $node was cut off, and ends with 0"
    grep -q '10.77.0.1' "$work/story$node" || fail "node $node does not name the store: $(cat "$work/story$node")"
done
told 'restart' && fail "nodes that come and go cost restarts: $(cat "$work/story1")"
grep 'round' "$work/story1"

# each step once, with the losses of the undisturbed run
python3 - "$work/whole" "$work/log" "$steps" <<'EOF' || failed=1
import json, sys
def losses(path):
    records = [json.loads(line) for line in open(path)]
    return [(r["step"], r["loss"]) for r in records if "loss" in r and "test_loss" not in r]
whole, parts, steps = losses(sys.argv[1]), losses(sys.argv[2]), int(sys.argv[3])
if [step for step, _ in parts] != list(range(1, steps + 1)):
    sys.exit(f"launch_nodes: steps {[step for step, _ in parts][:20]} ...")
off = max(abs(a - b) / b for (_, b), (_, a) in zip(whole, parts))
print(f"losses of {steps} steps: at most {off:.1e} off")
sys.exit(0 if off < 1e-4 else f"launch_nodes: losses are {off:.1e} off")
EOF
pgrep -f "$work/run" >/dev/null && fail "processes live on: $(pgrep -af "$work/run")"
exit "$failed"
