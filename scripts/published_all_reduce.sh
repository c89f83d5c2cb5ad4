#!/usr/bin/env bash
# An all-reduce of 256 MB on nodes of 8 H100, as others have measured it (Hugging Face, Ultra-Scale Playbook,
# pp_comm_bandwidth), beside the formulas of this course: the table of lesson 04. All in GB/s of bus bandwidth.
#
# usage: published_all_reduce.sh [simulate]    simulate: the ranks run, which takes a few minutes; else by formula
set -euo pipefail
cd "$(dirname "$0")/.."
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT
how=--formula
if [ "${1:-}" = simulate ]; then
    how=
fi
./shardlings simulate all_reduce $how --nodes 1,2,4,8,16,32,64 --per-node 8 --sizes 256000000 \
    --algorithms ring,hierarchical --inside-bandwidth 450GB --inside-latency 1us --bandwidth 50GB \
    --latency 5us --csv "$csv" >/dev/null

echo "nodes  published  hierarchical  flat ring  a step of eight rings"
awk -F, '
    BEGIN { split("436.0 361.7 160.1 99.6 84.7 64.9 32.9", published, " ") }
    NR > 1 { seconds[$2, $3] = $5; bytes = $4; ranks[$3] }
    END {
        for (i = 1; i <= 7; ++i) {
            p = 8 * 2 ^ (i - 1)
            bus = 2 * (p - 1) / p * bytes
            # what each step of a ring costs beside its bytes, where eight rings have a card each
            step = (bus / (published[i] * 1e9) - bus / (8 * 50e9)) / (2 * (p - 1))
            printf "%5d  %9.1f  %12.1f  %9.1f  %s\n", p / 8, published[i], bus / seconds["hierarchical", p] / 1e9, \
                bus / seconds["ring", p] / 1e9, i == 1 ? "-" : sprintf("%.1f us", step * 1e6)
        }
    }' "$csv"
