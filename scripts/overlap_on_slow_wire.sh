#!/usr/bin/env bash
# How much of the communication DDP hides, on a wire that is slow and takes no processor's time: a loopback
# interface of so many gigabits a second, in a network namespace of its own. For authors; needs root, iproute2.
#
#   scripts/overlap_on_slow_wire.sh [GIGABITS [OPTIONS OF bench_ddp]]
#
# hidden = (average - ddp) / (average - none), of the medians that are printed.
set -euo pipefail
cd "$(dirname "$0")/.."
gigabits=${1:-4}
shift || true
bench=build/release/course/lab/ddp/bench_ddp
[ -x "$bench" ] || { echo "build it first: ./shardlings bench ddp --rounds 1" >&2; exit 2; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 OMPI_MCA_mpi_yield_when_idle=1
exec unshare -n bash -euc '
  ip link set lo up
  tc qdisc add dev lo root tbf rate '"$gigabits"'gbit burst 512kb latency 100ms
  mpirun -n 2 --bind-to none --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo \
    '"$bench"' "$@"' bash "$@"
