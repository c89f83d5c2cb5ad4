#!/usr/bin/env bash
# ask, as a reader types it: what it prints, what it ends with, and what it remembers.
#
# usage: ask_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
SHARDLINGS_ROOT=$(mktemp -d)
export SHARDLINGS_ROOT NO_COLOR=1
trap 'rm -rf "$SHARDLINGS_ROOT"' EXIT
cp -r exercises "$SHARDLINGS_ROOT"
status=0

expect() { # STATUS TEXT WORD...
    local wanted=$1 text=$2 printed got
    shift 2
    printed=$("$program" "$@" 2>&1 </dev/null)
    got=$?
    [ "$got" = "$wanted" ] || { echo "FAIL  $*: it ends with $got, not $wanted"; status=1; }
    case $printed in
        *"$text"*) ;;
        *) printf 'FAIL  %s: it does not print "%s" but:\n%s\n' "$*" "$text" "$printed"; status=1 ;;
    esac
}
# The answer to the first question of chapter 03: "4 ranks all-reduce 1736 floats on a ring. ..."
answer_of() { # WORD...
    "$program" ask 03 --question 1 "$@" | sed -n 's/^ *\([0-9]*\) ranks all-reduce \([0-9]*\) floats.*/2 * \2 * (\1 - 1) \/ \1 * 4/p'
}

expect 0 '03_ring_and_tree, question 1 of 4' ask 03
expect 0 './shardlings ask 03 --question 1 --answer ...' ask 03_ring_and_tree
expect 1 'It is not 7.' ask 3 --answer 7
expect 0 'Right.' ask 03 --seed 5 --answer "$(answer_of --seed 5)"
expect 0 'question 1 of 4' ask 03  # numbers of somebody else do not count
expect 0 '"right": true' ask 03 --json --answer "$(answer_of)"
expect 0 'question 2 of 4' ask 03
expect 0 '"answered": true' ask 03 --json --question 1
expect 1 'Not yet.' ask 03 --question 1 --answer 7  # and it stays answered
expect 0 'question 2 of 4' ask 03
expect 2 "'many' has 'many', which is no number" ask 03 --answer many
expect 2 'there is no chapter' ask 04x
expect 2 'has 4 questions' ask 03 --question 5
expect 2 '--seed counts from 1' ask 03 --seed 0

for name in $(sed -n 's/^name = "\(.*\)"/\1/p' exercises/03_ring_and_tree/questions.toml); do
    echo "answered 03_ring_and_tree/$name" >>"$SHARDLINGS_ROOT/.shardlings/progress"
done
expect 0 'all 4 questions of 03_ring_and_tree are answered' ask 03
expect 2 'are answered' ask 03 --answer 7
expect 0 'question 4 of 4' ask 03 --question 4
expect 0 '03_ring_and_tree, questions answered' list
exit $status
