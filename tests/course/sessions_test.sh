#!/usr/bin/env bash
# The folder in which all jobs of a user would keep MPI's session cannot be made: each has one of its own, and leaves nothing.
#
# usage: sessions_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD NO_COLOR=1
work=$(mktemp -d)
export TMPDIR=$work
trap 'rm -rf "$work"' EXIT
host=$(uname -n)
touch "$work/ompi.${host%%.*}.$(id -u)" "$work/prte.${host%%.*}.$(id -u)" # of Open MPI 4, of 5
left=$(ls -A "$work")
status=0
starts() { # WORD...
    said=$("$program" "$@" 2>&1) || { printf 'FAIL  %s:\n%s\n' "$*" "$said"; status=1; }
    [ "$(ls -A "$work")" = "$left" ] || { echo "FAIL  $*: it left in TMPDIR: $(ls -A "$work")"; status=1; }
}
starts run send_recv --as solutions/01_point_to_point/send_recv.cpp
starts bench all_reduce -n 2 --sizes 4K --iterations 2 --algorithms mpi
exit $status
