#!/usr/bin/env bash
# Checks that README.md and the lessons show what really happens: runs each fenced block marked
# `console check` (its first line is `$ COMMAND`) and compares the lines that follow with the
# command's output. `...` in a line stands for anything within that line: times, counts, places.
# A block marked `console check gpu` needs CUDA and NCCL to be built, one marked `console check simgrid` SimGrid, one marked
# `console check simgrid-mc` its model checker, of SimGrid 4: without them it is skipped.
#
# usage: lessons_test.sh [--renew] [TEXT]    only blocks whose command holds TEXT
#        --renew writes into the lesson what is printed now, where that is something else: read the diff
set -u
cd "$(dirname "$0")/../.." || exit 70
renew=
if [ "${1:-}" = --renew ]; then
    renew=yes
    shift
fi
only=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NO_COLOR=1
gpu_missing=
simgrid_missing=
command -v smpirun >/dev/null || simgrid_missing="SimGrid is not installed"
checker_missing=
command -v simgrid-mc >/dev/null || checker_missing="simgrid-mc, of SimGrid 4, is not installed"

# Blocks become files: 001.command, 001.expected and 001.place (file:line).
split_into_blocks() { # FILE...
    awk -v work="$work" '
        /^```console check( gpu| simgrid| simgrid-mc)? *$/ {
            inside = 1
            base = sprintf("%s/%03d", work, ++count)
            if (/gpu/) printf "" > (base ".gpu")
            if (/simgrid *$/) printf "" > (base ".simgrid")
            if (/simgrid-mc/) printf "" > (base ".simgrid-mc")
            next
        }
        /^```/ && inside { inside = 0; close(base ".expected"); next }
        !inside { next }
        /^\$ / && inside == 1 {
            inside = 2
            print substr($0, 3) > (base ".command")
            print FILENAME ":" FNR > (base ".place")
            printf "" > (base ".expected")
            next
        }
        { print > (base ".expected") }
    ' "$@"
}

# Long work on a slow machine tells how far it is; that is no part of a lesson.
without_progress() {
    grep -vE '^((building( the command)?|simulating|proving on) [0-9]+.*|Building the stack for SimGrid|  +[0-9]+ s  .*|waits for .*, which builds here)$'
}

# Prints standard input with each line that matches the expected one replaced by it.
normalised() { # EXPECTED
    local line i=0
    local -a expected pattern
    mapfile -t expected <"$1"
    mapfile -t pattern < <(sed -e 's/[^[:alnum:]]/\\&/g' -e 's/\\\.\\\.\\\./*/g' "$1")
    while IFS= read -r line || [ -n "$line" ]; do
        # unquoted on the right: it is a pattern
        # shellcheck disable=SC2053
        if [ "$i" -lt "${#pattern[@]}" ] && [[ $line == ${pattern[i]} ]]; then
            line=${expected[i]}
        fi
        printf '%s\n' "$line"
        i=$((i + 1))
    done
}

# Prints standard input as a lesson shows it: a line that the old text has room for stays as it was there, and
# in a new one times and places are left open.
as_shown() { # EXPECTED
    local line p
    local -a expected pattern
    mapfile -t expected <"$1"
    mapfile -t pattern < <(sed -e 's/[^[:alnum:]]/\\&/g' -e 's/\\\.\\\.\\\./*/g' "$1")
    while IFS= read -r line || [ -n "$line" ]; do
        for p in "${!pattern[@]}"; do
            # shellcheck disable=SC2053
            if [[ $line == ${pattern[p]} ]]; then
                printf '%s\n' "${expected[p]}"
                continue 2
            fi
        done
        printf '%s\n' "$line" | sed -E -e 's/\(([0-9]+\.[0-9]) s\)/(... s)/' -e 's/(\.(cpp|cu)):[0-9]+/\1:.../g'
    done
}

renew() { # BASE
    local place file line
    place=$(cat "$1.place")
    file=${place%:*}
    line=${place##*:}
    bash -c "$(cat "$1.command")" </dev/null 2>&1 | without_progress | as_shown "$1.expected" >"$1.new"
    awk -v at="$line" -v new="$1.new" '
        NR <= at { print; next }
        /^```/ && !done { while ((getline text < new) > 0) print text; done = 1 }
        done { print }
    ' "$file" >"$1.lesson" && cat "$1.lesson" >"$file"
}

check() { # BASE
    local command place
    command=$(cat "$1.command")
    place=$(cat "$1.place")
    if [ -e "$1.gpu" ] && [ -n "$gpu_missing" ]; then
        printf 'skip  %s  %s   GPU code is not built here: %s\n' "$place" "$command" "$gpu_missing"
        return
    fi
    if [ -e "$1.simgrid" ] && [ -n "$simgrid_missing" ]; then
        printf 'skip  %s  %s   %s\n' "$place" "$command" "$simgrid_missing"
        return
    fi
    if [ -e "$1.simgrid-mc" ] && [ -n "$checker_missing" ]; then
        printf 'skip  %s  %s   %s\n' "$place" "$command" "$checker_missing"
        return
    fi
    bash -c "$command" </dev/null 2>&1 | without_progress | normalised "$1.expected" >"$1.got"
    if diff -u --label "$place" --label "what it prints" "$1.expected" "$1.got" >"$1.diff"; then
        printf 'ok    %s  %s\n' "$place" "$command"
    else
        printf 'FAIL  %s  %s\n' "$place" "$command"
        cat "$1.diff"
    fi
}

./shardlings --version >"$work/version" 2>&1 || { cat "$work/version"; exit 70; }  # builds the command
gpu_missing=$(sed -n 's/^SHARDLINGS_GPU_MISSING:INTERNAL=//p' build/release/CMakeCache.txt)
split_into_blocks README.md notebooks_md/*.md
if [ -n "$renew" ]; then
    for block in $(printf '%s\n' "$work"/*.command | sort -r); do  # the last first: lines above stay where they are
        if [[ $(cat "$block") == *"$only"* ]] && ! { [ -e "${block%.command}.gpu" ] && [ -n "$gpu_missing" ]; } &&
            ! { [ -e "${block%.command}.simgrid" ] && [ -n "$simgrid_missing" ]; } &&
            ! { [ -e "${block%.command}.simgrid-mc" ] && [ -n "$checker_missing" ]; }; then
            renew "${block%.command}"
        fi
    done
    split_into_blocks README.md notebooks_md/*.md
fi

# As many at a time as there are cores; what is said of them keeps their order.
blocks=()
for block in "$work"/*.command; do
    if [ -e "$block" ] && [[ $(cat "$block") == *"$only"* ]]; then
        blocks+=("${block%.command}")
    fi
done
reported=0
report() {
    while [ "$reported" -lt ${#blocks[@]} ] && [ -e "${blocks[reported]}.report" ]; do
        cat "${blocks[reported]}.report"
        reported=$((reported + 1))
    done
}
for base in "${blocks[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
        wait -n
        report
    done
    { check "$base" >"$base.told" && mv "$base.told" "$base.report"; } &
done
wait
report
count() { cat "$work"/*.report 2>/dev/null | grep -c "^$1 "; }
if [ ${#blocks[@]} -eq 0 ]; then
    echo "No block was checked: a block to check begins with \`\`\`console check, then \$ COMMAND"
fi
echo "$(count ok) passed, $(count FAIL) failed, $(count skip) skipped"
[ ${#blocks[@]} -gt 0 ] && [ "$(count FAIL)" -eq 0 ] && [ "$reported" -eq ${#blocks[@]} ]
