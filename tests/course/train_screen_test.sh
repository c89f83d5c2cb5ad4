#!/usr/bin/env bash
# What train prints into files, pipes and terminals, and how a run goes on that stopped or was interrupted.
#
# usage: train_screen_test.sh SHARDLINGS_CLI
set -u
cd "$(dirname "$0")/../.." || exit 70
program=$(realpath "$1")
export SHARDLINGS_ROOT=$PWD
unset NO_COLOR SHARDLINGS_TERMINAL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
escape=$'\033' return=$'\r'

complain() { # SENTENCE FILE
    printf 'FAIL  %s:\n' "$1"
    cat -v "$2"
    failed=1
}
expect() { grep -qF -- "$1" "$2" || complain "there is no '$1'" "$2"; }
expect_a_bar() { # BEFORE FILE: of some epoch; a short one may end before it has one
    grep -q "$1epoch [0-9]*/40 \[" "$2" || complain "there is no bar after '$1'" "$2"
}
expect_plain_lines() { # FILE
    grep -q "[$escape$return]" "$1" && complain "it is not of plain lines" "$1"
    expect 'done: test accuracy' "$1"
}
line=("$program" train -n 2 --model small --train-size 96 --test-size 30 --batch 12)
train() { "${line[@]}" "$@"; }
on_terminal() { # SETTINGS FILE: as someone sees it who types the line
    script -qec "$1 ${line[*]} --epochs 40" "$2" >/dev/null
}

# --- files and pipes

for setting in NOTHING=1 NO_COLOR=1 TERM=dumb; do
    env "$setting" "${line[@]}" --steps 4 >"$work/file" 2>&1
    expect_plain_lines "$work/file"
done
train --steps 4 2>&1 | tail -20 >"$work/pipe"
expect_plain_lines "$work/pipe"

# --- terminals: a bar that changes in its line, and is coloured

if command -v script >/dev/null; then
    TERM=xterm on_terminal TERM=xterm "$work/bar"
    expect_a_bar "${return}${escape}\[K${escape}\[36m" "$work/bar"
    on_terminal 'TERM=xterm NO_COLOR=1' "$work/bar"
    expect_a_bar "${return}${escape}\[K" "$work/bar"
    grep -qF "${escape}[36m" "$work/bar" && complain 'it is coloured' "$work/bar"
    on_terminal TERM=dumb "$work/bar"
    grep -qF "$escape" "$work/bar" && complain 'a dumb terminal gets escapes' "$work/bar"
    expect 'done: test accuracy' "$work/bar"
    on_terminal 'stty cols 70 rows 24; TERM=xterm' "$work/narrow"
    sed "s/$return$escape\\[K/\\n/g; s/$escape\\[[0-9;]*m//g; s/$return//g" "$work/narrow" | grep -v '^Script' >"$work/lines"
    expect 'done: test accuracy' "$work/lines"
    awk 'length > 70 { exit 1 }' "$work/lines" || complain 'lines are broken by the terminal' "$work/lines"
else
    echo 'script is not installed: no terminal was tried'
fi

# --- checkpoints: the line that goes on is one that can be typed

train --steps 8 --checkpoint "$work/run" --stop-after=3 >"$work/stopped" 2>&1
expect "checkpoint: $work/run/checkpoint.pt" "$work/stopped"
bash -c "$(sed -n 's/^to go on:  //p' "$work/stopped")" >"$work/rest" 2>&1
expect 'going on after step 3 of 8' "$work/rest"
expect 'to go on, with more --epochs or --steps: ' "$work/rest"
train --steps 12 --checkpoint "$work/run" --resume >"$work/longer" 2>&1
expect 'going on after step 8 of 12; the run was begun for 8 steps' "$work/longer"

"${line[@]}" --epochs 10000 --checkpoint "$work/long" --save-every 2 >"$work/long.txt" 2>&1 &
for _ in $(seq 600); do
    [ -e "$work/long/checkpoint.pt" ] && break
    sleep 0.1
done
kill -INT $!
wait $!
[ $? = 130 ] || complain 'it does not end with 130' "$work/long.txt"
expect "to go on:  ./shardlings train -n 2 --model small" "$work/long.txt"
expect "--checkpoint $work/long --save-every 2 --resume" "$work/long.txt"
exit $failed
