#!/usr/bin/env bash
# The collectives of chapters 01 to 03 on the small MPI and on Open MPI: the same bits. And how its launcher ends.
#
# usage: own_mpi_test.sh START_RANKS STACK_BITS_OWN MPIRUN STACK_BITS STACK_BITS_THROWS
set -u
start=$1 own=$2 mpirun=$3 open=$4 throws=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
    echo "own_mpi: $*"
    failed=1
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for ranks in 1 2 3 4 5 6 7 8; do
    timeout 100 "$start" "$ranks" "$own" >"$work/own" 2>"$work/errors" || fail "$ranks ranks end with $?: $(cat "$work/errors")"
    timeout 100 "$mpirun" --oversubscribe -n "$ranks" "$open" >"$work/open" 2>"$work/errors" ||
        fail "on Open MPI $ranks ranks end with $?: $(cat "$work/errors")"
    [ "$(wc -l <"$work/own")" -gt 300 ] || fail "$ranks ranks print $(wc -l <"$work/own") lines"
    cmp -s "$work/own" "$work/open" || fail "$ranks ranks: $(diff "$work/own" "$work/open" | head -4)"
done

# a rank that fails decides how it ends, and the others end with it
status=0
timeout 20 "$start" 3 sh -c '[ "$RANK" != 1 ] || exit 7; exec sleep 61.25' || status=$?
[ "$status" -eq 7 ] || fail "a rank ends with 7, the launcher with $status"
pgrep -f "sleep 61.25" >/dev/null && fail "a rank lives on"
status=0
timeout 20 "$start" 2 "$work/nothing" 2>"$work/errors" || status=$?
[ "$status" -eq 127 ] || fail "there is no program, and the launcher ends with $status"
grep -q "$work/nothing" "$work/errors" || fail "the program that is not there is not named"

# one that is stopped ends, too
status=0
timeout 20 "$start" 2 sh -c 'if [ "$RANK" = 1 ]; then kill -STOP $$; else sleep 0.3; exit 3; fi' || status=$?
[ "$status" -eq 3 ] || fail "rank 0 ends with 3 while rank 1 is stopped, the launcher with $status"

# a rank that is killed is named, once; and of those that find out nobody speaks
status=0
timeout 20 "$start" 3 sh -c '[ "$RANK" != 1 ] || kill -SEGV $$; sleep 5' 2>"$work/errors" || status=$?
[ "$status" -eq 139 ] || fail "a rank died of SIGSEGV, the launcher ends with $status"
[ "$(cat "$work/errors")" = "rank 1 died of SIGSEGV" ] || fail "of a death it is said: $(cat "$work/errors")"

# where all fail alike, one says why
status=0
timeout 20 "$start" 3 "$throws" 2>"$work/errors" || status=$?
[ "$status" -eq 1 ] || fail "no rank has a transport, and the launcher ends with $status"
grep -q "^rank 0: .*is not made for this" "$work/errors" || fail "of a transport that throws it is said: $(cat "$work/errors")"
exit "$failed"
