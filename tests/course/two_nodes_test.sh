#!/usr/bin/env bash
# bench and train on two nodes: two network namespaces of this machine, with a pair of virtual interfaces between them. What
# stands for ssh, and for Slurm's srun, enters the other one. Where users may have namespaces it needs no root; it
# leaves nothing behind.
#
# usage: two_nodes_test.sh SHARDLINGS_CLI bench | train
# shellcheck disable=SC2086,SC2317  # words are meant to be split; what the trap calls is reached
set -u
skip() { echo "$1: two nodes were not tried"; exit 77; }

if [ "$1" != on_node1 ]; then
    cd "$(dirname "$0")/../.." || exit 70
    for program in unshare nsenter ip hostname; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    spaces="--net --uts --mount"
    [ "$(id -u)" -eq 0 ] || spaces="--user --map-root-user $spaces"
    unshare $spaces ip link add probe0 type veth peer name probe1 2>/dev/null ||
        skip "this machine lets nobody have network namespaces"
    exec unshare $spaces bash "$0" on_node1 "$(realpath "$1")" "$2"
fi
program=$2 part=$3

# --- two nodes

work=$(mktemp -d)
unshare --net --uts sleep 3600 &
node2=$!
end() {
    kill $node2
    umount /etc/hosts
    rm -rf "$work"
} 2>/dev/null
trap end EXIT
on_node2() { nsenter --target $node2 --net --uts "$@"; }
until [ "$(readlink /proc/$node2/ns/uts)" != "$(readlink /proc/$$/ns/uts)" ]; do sleep 0.01; done

hostname node1
on_node2 hostname node2
ip link add wire type veth peer name wire netns $node2
ip address add 10.77.0.1/24 dev wire
on_node2 ip address add 10.77.0.2/24 dev wire
for interface in lo wire; do
    ip link set $interface up
    on_node2 ip link set $interface up
done
{
    cat /etc/hosts
    echo "10.77.0.1 node1"
    echo "10.77.0.2 node2"
} >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts || exit 70

cat >"$work/agent" <<EOF
#!/bin/sh
[ "\$1" = node2 ] || { echo "agent: there is no host \$1" >&2; exit 255; }
shift
exec nsenter --target $node2 --net --uts sh -c "\$*"
EOF
mkdir "$work/bin"
cat >"$work/bin/srun" <<EOF
#!/bin/sh
[ "\$1" != --version ] || { echo "slurm 23.02.1"; exit; } # Open MPI 5 asks
echo "\$*" >>"$work/srun.log"
while [ "\${1#-}" != "\$1" ]; do shift; done
export SLURM_NODEID=0 SLURM_PROCID=0
exec nsenter --target $node2 --net --uts "\$@"
EOF
chmod +x "$work/agent" "$work/bin/srun"
printf 'node1 slots=1\nnode2 slots=1\n' >"$work/two"

# --- what is tried

# both nodes are this machine: their ranks may have to share a core
export OMPI_MCA_plm_rsh_agent=$work/agent PRTE_MCA_plm_ssh_agent=$work/agent OMPI_MCA_mpi_yield_when_idle=1
export SHARDLINGS_ROOT=$PWD
unset SLURM_JOB_ID SLURM_JOB_NODELIST
failed=0
fail() {
    echo "FAILED: $1"
    sed 's/^/    /' "$work/out" "$work/err"
    failed=1
}
shardlings() { # STATUS WORDS...
    local expected=$1 status
    shift
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" -eq "$expected" ] || fail "shardlings $*: status $status, not $expected"
}
holds() { grep -qF -- "$2" "$work/$1" || fail "no \"$2\" in $1"; }
sent_bytes() { ip -s link show wire | awk '/TX:/ { getline; print $1 }'; }

bench="bench all_reduce --sizes 4K,1M --iterations 3 --json"

if [ "$part" = train ]; then
    before=$(sent_bytes)
    shardlings 0 train --hostfile "$work/two" --model small --steps 2 --batch 8
    holds out "2 ranks"
    grep -q $'\033' "$work/out" && fail "a file is no terminal"
    [ $(($(sent_bytes) - before)) -gt 100000 ] || fail "gradients did not go over the wire"
    exit $failed
fi

before=$(sent_bytes)
GLOO_SOCKET_IFNAME=wire shardlings 0 $bench --hostfile "$work/two"
holds out '"nodes": 2'
holds out '"ranks": 2'
holds out '"algorithm": "ring"'
holds out "shared is left out: the ranks are on several machines"
grep -q '"wrong": [1-9]' "$work/out" && fail "wrong elements"
[ $(($(sent_bytes) - before)) -gt 5000000 ] || fail "the ring's megabytes did not go over the wire"

shardlings 0 $bench --hostfile "$work/two" --algorithms ring,gloo -n 2
grep -q "gloo is left out: \(between machines\|it needs Gloo\)" "$work/out" || fail "gloo without an interface"

# a job of Slurm's
SLURM_JOB_ID=7 SLURM_JOBID=7 SLURM_JOB_NODELIST=node1,node2 SLURM_NODELIST=node1,node2 SLURM_NNODES=2 SLURM_JOB_NUM_NODES=2 \
    SLURM_TASKS_PER_NODE='1(x2)' SLURM_JOB_CPUS_PER_NODE='1(x2)' SLURM_NTASKS=2 PATH=$work/bin:$PATH \
    shardlings 0 $bench --algorithms naive,ring
holds out '"nodes": 2'
holds srun.log "node2"

# what cannot be: one line each, and one more where another command builds here
refused() { # SENTENCE WORDS...
    local sentence=$1
    shift
    shardlings 2 "$@"
    holds err "$sentence"
    [ "$(grep -cv "^waits for ./shardlings " "$work/err")" -eq 1 ] || fail "more than one line: $*"
}
refused "there is no file $work/three" $bench --hostfile "$work/three"
echo "# nobody" >"$work/three"
refused "$work/three names no host" $bench --hostfile "$work/three"
printf 'node1 slots=1\nnode3 slots=1\n' >"$work/three"
refused "no process can be started on node3 of $work/three (agent: there is no host node3)" $bench --hostfile "$work/three"
refused "-n 5: there are not so many slots" $bench --hostfile "$work/two" -n 5
exit $failed
