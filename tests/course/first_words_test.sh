#!/usr/bin/env bash
# ./shardlings starts for the words of the first hour a program that has no others: it knows each of them, as the whole one does.
#
# usage: first_words_test.sh SHARDLINGS_FIRST SHARDLINGS_CLI
set -euo pipefail
words=$(sed -n 's/^\(.*\)) program=shardlings_first.*/\1/p' "$SHARDLINGS_ROOT/shardlings" | tr -d '|')
[ "$(wc -w <<<"$words")" -ge 5 ]
for word in $words; do
    first=$("$1" "$word" --help)
    whole=$("$2" "$word" --help)
    [ "$first" = "$whole" ] || {
        printf '%s --help of the one program:\n%s\nand of the other:\n%s\n' "$word" "$first" "$whole"
        exit 1
    }
done
