#!/usr/bin/env bash
# The book is built without a warning, its links lead somewhere, it loads nothing from elsewhere, and it is served to this machine.
#
# usage: book_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
command -v sphinx-build >/dev/null || { echo "Sphinx is not installed"; exit 77; }
python=$(sed -n '1s/^#!//p' "$(command -v sphinx-build)")
$python -c 'import myst_parser, tomllib' 2>/dev/null || { echo "MyST, or Python 3.11, is not installed"; exit 77; }
export SHARDLINGS_ROOT=$PWD
book=$1
work=$(mktemp -d)
server=
players=build/book_players/players
had_players=$(ls "$players" 2>/dev/null)
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; [ -n "$had_players" ] || rm -rf "$players"; rm -rf "$work"' EXIT
fail() {
    printf 'FAIL  %s\n' "$1"
    exit 1
}

"$book" book >"$work/said" 2>&1 || fail "book: $(cat "$work/said")"
[ "$(wc -l <"$work/said")" = 1 ] || fail "book says more than where it is: $(cat "$work/said")"
$python tests/course/book_site.py build/book . || fail "that is wrong in build/book"

# with pages that play messages, as book --players brings them
build/release/tests/course/draw_pictures --html "$players" >"$work/said" 2>&1 || fail "no players: $(cat "$work/said")"
"$book" book >"$work/said" 2>&1 || fail "book, with players: $(cat "$work/said")"
$python tests/course/book_site.py build/book . || fail "that is wrong in build/book, with players"
for page in 03_ring_and_tree:ring_all_reduce 02_naive_collectives:all_reduce; do
    grep -q "players/${page#*:}.html" "build/book/${page%:*}.html" || fail "${page%:*} does not play ${page#*:}"
done
[ ! -e "$players/zero3.html" ] || grep -q '../players/zero3.html' build/book/exercises/zero3.html || fail "zero3 is not played"

# the check itself finds what is wrong
cp -r build/book "$work/site"
spoil() { # PAGE SED_SCRIPT
    sed -i "$2" "$work/site/$1"
}
spoil index.html 's/href="02_naive_collectives.html"/href="02.html"/'
spoil 01_point_to_point.html 's/#hello-ranks"/#hello"/'
spoil training.html 's|<script src="_static|<script src="https://elsewhere/_static|'
spoil _images/overview.svg 's|</svg>|<image href="https://elsewhere/a.png"/></svg>|'
spoil exercises/ring_shift.html 's/pragma/pragna/'
rm "$work/site/exercises/send_recv.html" "$work/site/players/reduce.html"
$python tests/course/book_site.py "$work/site" . >"$work/faults" && fail "the check finds nothing"
while read -r fault; do
    grep -qF "$fault" "$work/faults" || fail "not found: $fault"
done <<'FAULTS'
index.html: the link 02.html leads nowhere
01_point_to_point.html: the link #hello leads to no place of that page
training.html: loads https://elsewhere/_static
_images/overview.svg: loads https://elsewhere/a.png
exercises/ring_shift.html: does not show the header
the exercise send_recv has no page
02_naive_collectives.html: the frame players/reduce.html is not there
FAULTS

"$book" book --port 80 2>"$work/said" && fail "--port without --serve is taken"
grep -q -- '--port is for --serve' "$work/said" || fail "--port without --serve says $(cat "$work/said")"

# served: to this machine, with what is done; Ctrl-C ends it well
"$book" book --serve --port 0 >"$work/said" 2>&1 &
server=$!
for _ in $(seq 600); do
    grep -q 'http://' "$work/said" && break
    kill -0 "$server" 2>/dev/null || fail "--serve ended: $(cat "$work/said")"
    sleep 0.1
done
at=$(sed -n 's|.*\(http://127.0.0.1:[0-9]*/\).*|\1|p' "$work/said")
$python - "$at" "$work/said" <<'PYTHON' || fail "that is wrong in what is served"
import json, sys, urllib.error, urllib.request
at = sys.argv[1]
open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # never by a proxy

def status(path, host=None):
    try:
        return open_url(urllib.request.Request(at + path, headers={"Host": host} if host else {})).status
    except urllib.error.HTTPError as error:
        return error.code

progress = json.load(open_url(at + "_static/progress.json"))
assert progress["total"] == len(progress["exercises"]) > 80, progress
assert status("index.html") == 200
assert status("none.html") == 404
assert status("../../README.md") == 404, "leaves its folder"
assert status("index.html", "elsewhere.example") == 403, "answers to any name"
PYTHON
"$book" book --serve --port "$(echo "$at" | grep -o '[0-9]*/$' | tr -d /)" >"$work/second" 2>&1
ended=$?
if [ "$ended" != 2 ] || ! grep -q 'choose another with --port' "$work/second"; then
    fail "a port in use: $(cat "$work/second")"
fi
kill -INT "$server"
wait "$server"
ended=$?
server=
[ "$ended" = 0 ] || fail "Ctrl-C ends --serve with $ended"
