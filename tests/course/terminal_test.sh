#!/usr/bin/env bash
# list and watch on the screens of real terminals: tmux is the terminal, of 80 and of 40 columns, with and without colours.
# The course is a copy of the exercises; its compiler is a script that says what this test wants.
#
# usage: terminal_test.sh SHARDLINGS_CLI
# shellcheck disable=SC2317  # what try, await and the trap call is reached
set -u
cd "$(dirname "$0")/../.." || exit 70
command -v tmux >/dev/null || { echo "tmux is not installed: no screens were tried"; exit 77; }
unset NO_COLOR TMUX
program=$(realpath "$1")
work=$(mktemp -d)
export HOME=$work TMUX_TMPDIR=$work LC_ALL=C.UTF-8
answer=exercises/01_point_to_point/hello_ranks.cpp
exercises=$(grep -c "^\[\[exercise\]\]" exercises/course.toml)
rule="---- $answer ---" # stands above each run

tmux_here() { tmux -L "shardlings_$$" -f /dev/null "$@"; }
end() {
    tmux_here kill-server 2>/dev/null
    for _ in $(seq 50); do # what ran there may still be ending
        rm -rf "$work" 2>/dev/null && break
        sleep 0.1
    done
}
trap end EXIT

# --- a course that can be written to, for each terminal

make_course() { # FOLDER
    export SHARDLINGS_ROOT=$1/course
    mkdir -p "$SHARDLINGS_ROOT/build/release" "$SHARDLINGS_ROOT/.shardlings" "$1/tools"
    cp -r exercises "$SHARDLINGS_ROOT"
    cat >"$SHARDLINGS_ROOT/$answer" <<EOF # the stub, whatever somebody has made of it here
std::string hello_ranks(const Communicator& comm) {
    // TODO: ...
    throw NotImplemented("hello_ranks");
}
EOF
    ln -s "$PWD/tests" "$PWD/notebooks_md" "$SHARDLINGS_ROOT"
    ln -s "$program" "$SHARDLINGS_ROOT/shardlings"
    : >"$SHARDLINGS_ROOT/build/release/build.ninja"
    printf '#!/bin/sh\n' >"$1/tools/cmake" # all but the answer is built
    cat >"$1/tools/ninja" <<EOF
#!/bin/sh
echo compiler -o CMakeFiles/hello_ranks_test.dir/a.o -c $SHARDLINGS_ROOT/$answer
echo linker CMakeFiles/hello_ranks_test.dir/a.o -o tests/hello_ranks_test
EOF
    cat >"$1/tools/compiler" <<EOF
#!/bin/sh
while [ -e "$1/slow" ]; do sleep 0.1; done
cat "$1/said"
exit 1
EOF
    chmod +x "$1"/tools/*
    cat >"$1/said" <<EOF
$SHARDLINGS_ROOT/$answer:11:74: error: 'a_long_name' was not declared in this scope; did you mean 'another_name_that_is_as_long'?
   11 |     std::vector<std::map<std::string, std::pair<int, int>>> neighbours = a_long_name(comm.rank(), comm.size());
      |                                                                          ^~~~~~~~~~~
EOF
    cat >"$1/prompt" <<EOF
PS1='ready> ' PATH=$SHARDLINGS_ROOT:$1/tools:\$PATH
unset HISTFILE
export SHARDLINGS_ROOT=$SHARDLINGS_ROOT
EOF
}

# --- what is on the screen

screen() { tmux_here capture-pane -t "$terminal" -p -S - "$@"; }
words() { screen | tr -s '[:space:]' ' '; }  # as if nothing had been folded
times() { words | grep -oF -- "$1" | wc -l; }

complain() { # SENTENCE
    printf 'FAIL  %s: %s\n' "$where" "$1"
    failed=1
}
give_up() {
    complain "$1"
    screen
    exit 1
}
await() { # TEXT [TIMES]
    local _
    for _ in $(seq 600); do
        [ "$(times "$1")" -ge "${2:-1}" ] && return
        sleep 0.1
    done
    give_up "there is no '$1' (${2:-1} times) on the screen"
}
expect() { # TEXT...
    local text
    for text in "$@"; do
        [ "$(times "$text")" -gt 0 ] || complain "'$text' is missing"
    done
}
expect_lines_of() { # COLUMNS: -J joins what the terminal had to break
    screen -J | sed 's/ *$//' | awk -v columns="$1" 'length > columns { print "        " $0; long = 1 } END { exit !long }' &&
        complain "lines above are longer than $1 columns"
}
expect_colours() { # yes | no
    local found=no
    screen -e | grep -q $'\033' && found=yes
    [ "$found" = "$1" ] || complain "colours: $found, not $1"
}

# --- what is typed

open_terminal() { # COLUMNS ROWS
    terminal=$BASHPID
    here=$work/$terminal
    make_course "$here"
    (cd "$here" && tmux_here new-session -d -s "$terminal" -x "$1" -y "$2" 'exec bash --rcfile prompt') || exit 70
    await 'ready>'
}
press() { tmux_here send-keys -t "$terminal" "$@"; }
type_line() { press -l "$1" && press Enter; }
save() { echo 'int begun() { return 0; }' >>"$SHARDLINGS_ROOT/$answer"; }
start_watch() { # [SETTING]
    type_line 'stty -g >before'
    await 'ready>' 2
    type_line "${1:-} shardlings watch"
    await 'q quit'
}
expect_end_of_watch() { # READY: prompts so far
    await 'ready>' "$1"
    type_line 'stty -g >after; : >ended'
    local _
    for _ in $(seq 600); do
        [ -e "$here/ended" ] && break
        sleep 0.1
    done
    rm "$here/ended"
    cmp -s "$here/before" "$here/after" || complain "the terminal is not as it was: $(diff "$here/before" "$here/after")"
    [ "$(tmux_here display-message -t "$terminal" -p '#{cursor_flag}')" = 1 ] || complain "the cursor is gone"
}

# --- the screens

try_list() { # COLUMNS SETTING COLOURS
    where="list, $1 columns $2"
    open_terminal "$1" 24
    type_line "$2 shardlings list"
    await 'ready>' 2
    expect 'next hello_ranks' 'Every rank says hello to rank 0' 'A checkpoint that nobody collects' \
        "0 of $exercises done" 'Next: ./shardlings run hello_ranks'
    expect_lines_of "$1"
    expect_colours "$3"
}

try_watch() { # COLUMNS SETTING COLOURS
    where="watch, $1 columns $2"
    open_terminal "$1" 24
    start_watch "$2"
    expect 'hello_ranks is not started: its TODO is still there.' 'Read:' 'Stuck?' 'Edit:' "0 of $exercises done" 'r run | h hint'
    press h
    await 'hello_ranks, hint 1 of 3:'
    await 'q quit' 2
    press n
    await 'hello_ranks does not pass yet; h gives a hint.'
    press l
    await 'Next: ./shardlings run hello_ranks'
    await 'q quit' 3
    save
    await 'It does not build.'
    await 'q quit' 4
    expect "error: 'a_long_name' was not declared in this scope; did you mean 'another_name_that_is_as_long'?" \
        '= a_long_name(' '^~~~~~~~~~~'
    expect_lines_of "$1"
    expect_colours "$3"
    press q
    expect_end_of_watch 3
}

try_keys_while_it_builds() {
    where="watch, while it builds"
    open_terminal 80 24
    start_watch
    : >"$here/slow"
    save
    await "$rule" 2
    press h
    await 'hello_ranks, hint 1 of 3:'
    press n z Up h  # and keys that are none
    await 'hello_ranks does not pass yet'
    await 'hello_ranks, hint 2 of 3:'
    rm "$here/slow"
    await 'It does not build.'
    : >"$here/slow"
    save
    await "$rule" 3
    save
    await "$rule" 4
    press C-c
    expect_end_of_watch 3
}

try_builds_while_somebody_reads() {
    where="watch, while somebody reads the stub"
    open_terminal 80 24
    echo 'SHARDLINGS_SHARED_JOBS:BOOL=ON' >"$SHARDLINGS_ROOT/build/release/CMakeCache.txt"
    printf '#!/bin/sh\necho "builds $*"\necho "$*" >>"%s/built"\nexec sleep 600\n' "$here" >"$here/tools/cmake"
    start_watch
    await_builds 1
    press h
    await 'hello_ranks, hint 1 of 3:'
    await_builds 2 # the key has ended the first
    press q
    expect_end_of_watch 3
}

await_builds() { # TIMES
    local _
    for _ in $(seq 600); do
        [ "$(grep -c hello_ranks_test_parts "$here/built" 2>/dev/null)" = "$1" ] && return
        sleep 0.1
    done
    give_up "the test is not built $1 times before anything is saved"
}

try_stop_and_go_on() {
    where="watch, stopped by Ctrl-Z"
    open_terminal 80 24
    start_watch
    press C-z
    await 'ready>' 3
    type_line fg
    await 'shardlings watch' 3
    mv "$SHARDLINGS_ROOT/$answer" "$here/aside"  # as an editor does for a moment
    press n
    await 'hello_ranks does not pass yet'
    mv "$here/aside" "$SHARDLINGS_ROOT/$answer"
    press x
    await 'y or n'
    press y
    await 'reset needs a clone of the course'
    await 'q quit' 2
    press q
    expect_end_of_watch 4
}

try_reset() {
    where="watch, reset"
    open_terminal 80 24
    local git="git -C $SHARDLINGS_ROOT -c user.name=nobody -c user.email=nobody@localhost"
    $git init -q && $git add exercises && $git commit -qm 'the stub'
    save
    start_watch
    expect 'It does not build.'
    press x
    await 'y or n'
    press y
    await 'is the stub again.'
    await 'q quit' 2
    await 'hello_ranks is not started'
    [ "$(times "$rule")" = 2 ] || complain "it runs more than once"
    press q
    expect_end_of_watch 3
}

try_narrower() {
    where="watch, in a window that becomes very small, with a damaged progress"
    open_terminal 40 24
    start_watch
    { echo 'done hello_ranks'; seq -f 'done no_such_%g' 100; printf 'current\nhints \001\377\n'; } >"$SHARDLINGS_ROOT/.shardlings/progress"
    press h
    await "[--------------------] 1 of $exercises done"
    await 'n next | r run'
    tmux_here resize-window -t "$terminal" -x 20 -y 5
    press n
    await 'chunk_bounds is not started'
    await 'q quit' 3
    press q
    expect_end_of_watch 3
}

try_without_a_screen() {
    where="list, through a pipe"
    make_course "$work/pipe"
    "$program" list | cat >"$work/list"
    grep -q 'difficulty  importance  minutes  needs  what' "$work/list" || complain "it is not whole"
    grep -q $'\033' "$work/list" && complain "it is coloured"
}

# All at the same time: most of it is waiting.
tried=()
try() { # FUNCTION [ARGUMENT...]
    { failed=0; "$@"; exit $failed; } &
    tried+=($!)
}
tmux_here start-server \; set-option -g exit-empty off
for columns in 80 40; do
    for setting in "" NO_COLOR=1 TERM=dumb; do
        colours=no
        [ -z "$setting" ] && colours=yes
        try try_list $columns "$setting" $colours
        [ "$setting" = TERM=dumb ] || try try_watch $columns "$setting" $colours
    done
done
try try_keys_while_it_builds
try try_builds_while_somebody_reads
try try_stop_and_go_on
try try_reset
try try_narrower
try try_without_a_screen
status=0
for one in "${tried[@]}"; do
    wait "$one" || status=1
done
exit $status
