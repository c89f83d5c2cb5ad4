#!/usr/bin/env -S bash #
exec bash <(tail -n +3 "$0" | tr -d '\r') "$@" # a zip made on Windows may have given each line a CR
# Gradescope runs this once, when the autograder's image is made: the course, with all that it needs, built. Upload it with
# run_autograder, and with a file `course` that holds the address of your copy of the course (a git URL).
set -euo pipefail
autograder=${AUTOGRADER:-/autograder}
apt-get update
apt-get install -y --no-install-recommends git ca-certificates
git clone --depth 1 "$(tr -d '\r' <"$autograder/source/course")" "$autograder/shardlings"
cd "$autograder/shardlings"
for group in base grade torch; do # without torch: chapters 01 to 03
    scripts/setup.sh "$group"
done
./shardlings doctor
