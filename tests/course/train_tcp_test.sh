#!/usr/bin/env bash
# train --transport tcp: the losses of 20 steps are those under MPI, bit for bit. How it ends: train_tcp_ends_test.sh.
#
# usage: train_tcp_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "train_tcp: $*"
    failed=1
}
train() { timeout 200 "$program" train --model small --train-size 200 --test-size 20 --batch 8 --seed 3 "$@"; }
losses() { grep -o '"loss":[^,}]*' "$1"; }

for parallel in ddp zero3; do
    for ranks in 2 3; do
        for transport in tcp mpi; do
            train -n "$ranks" --parallel "$parallel" --steps 20 --transport "$transport" --log "$work/$transport" >"$work/out" 2>&1 ||
                fail "$parallel on $ranks ranks over $transport ends with $?: $(tail -3 "$work/out")"
        done
        [ "$(losses "$work/tcp" | wc -l)" -ge 20 ] || fail "$parallel on $ranks ranks logs $(losses "$work/tcp" | wc -l) losses"
        cmp -s <(losses "$work/tcp") <(losses "$work/mpi") ||
            fail "$parallel on $ranks ranks: $(diff <(losses "$work/tcp") <(losses "$work/mpi") | head -3)"
    done
done

# what it cannot do is refused
echo "localhost slots=2" >"$work/hosts"
train --transport tcp --hostfile "$work/hosts" --steps 1 >"$work/out" 2>&1 && fail "hosts are taken"
grep -q "on this machine" "$work/out" || fail "hosts: $(cat "$work/out")"
exit "$failed"
