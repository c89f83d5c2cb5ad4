#!/bin/sh
# Installs missing packages; the command is shown first. Prints nothing when nothing is missing.
#
#   scripts/setup.sh base     what every command needs
#   scripts/setup.sh torch    LibTorch: chapters 05 and later, `train`
#   scripts/setup.sh plot     gnuplot: `bench --svg`, `plot`
#   scripts/setup.sh book     Sphinx and MyST: `book`
#   scripts/setup.sh grade    bubblewrap: `grade`
#   scripts/setup.sh simulate SimGrid: `simulate`, `prove`
#   scripts/setup.sh test     what only tests need: `test` skips by name what cannot be tried without
#
# As root, or with a sudo that asks for no password, it installs; on a terminal it asks first;
# otherwise the line stays on the screen and the exit status is 2.
set -eu
cd "$(dirname "$0")/.."

missing=
say() { printf '%s\n' "$*" >&2; }

# miss PACKAGE: notes it, once.
miss() { case "$missing " in *" $1 "*) ;; *) missing="$missing $1" ;; esac; }

# need_command NAME PACKAGE: the package is missing when the program is.
need_command() { command -v "$1" >/dev/null || miss "$2"; }

# need_header PATH PACKAGE: likewise, for a file or folder that the compiler has to find.
need_header() {
    for prefix in /usr /usr/local ${CMAKE_PREFIX_PATH:-} ${CONDA_PREFIX:-}; do
        [ -e "$prefix/include/$1" ] && return
    done
    miss "$2"
}

# MyST has to be where the Python of Sphinx looks, which may be one of a virtual environment.
need_book() {
    need_command sphinx-build python3-sphinx
    python=python3
    if program=$(command -v sphinx-build); then
        read -r python <"$program"
    fi
    ${python#\#!} -c 'import myst_parser' 2>/dev/null || miss python3-myst-parser
}

for group in "${@:-base}"; do
    case $group in
    base)
        need_command c++ g++
        need_command cmake cmake
        need_command ninja ninja-build
        need_command git git
        need_command addr2line binutils
        need_command mpicxx libopenmpi-dev
        need_command mpirun openmpi-bin
        need_header catch2 catch2
        need_header CLI/CLI.hpp libcli11-dev
        need_header fmt/format.h libfmt-dev
        need_header nlohmann/json.hpp nlohmann-json3-dev
        need_header toml++/toml.h libtomlplusplus-dev
        need_header archive.h libarchive-dev
        need_header tinyxml2.h libtinyxml2-dev
        # only make builds faster: they come along, and are not missed
        if [ -n "$missing" ]; then
            need_command ccache ccache
            need_command mold mold
        fi
        ;;
    torch)
        # a LibTorch that CMake found elsewhere (Torch_DIR, Python's torch) is as good
        grep -q '^LibTorch_INCLUDE_DIR:PATH=/' build/release/CMakeCache.txt 2>/dev/null ||
            need_header torch/csrc/api/include/torch/torch.h libtorch-dev
        ;;
    plot) need_command gnuplot gnuplot-nox ;;
    book) need_book ;;
    grade) need_command bwrap bubblewrap ;;
    simulate)
        need_command smpirun libsimgrid-dev
        need_header smpi/mpi.h libsimgrid-dev
        ;;
    test)
        need_command bwrap bubblewrap
        need_command smpirun libsimgrid-dev
        need_command xmllint libxml2-utils
        need_command tmux tmux
        need_command ip iproute2
        need_book
        python3 -c 'import jsonschema' 2>/dev/null || miss python3-jsonschema
        ;;
    *)
        say "setup: no group is called \"$group\"; there are base, torch, plot, book, grade, simulate and test"
        exit 2
        ;;
    esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    say "Missing, by the names of Debian's packages:$missing"
    say "Install them with this system's package manager, and start again."
    exit 2
fi
install="apt-get install -y --no-install-recommends$missing"
say "Needed and not installed:$missing"
say "    $install"

as_root=
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null; then
        say "Run this line as root, and start again."
        exit 2
    elif ! sudo -n true 2>/dev/null; then
        if ! [ -t 0 ] || ! [ -t 2 ]; then
            say "Run this line with sudo, and start again."
            exit 2
        fi
        printf 'Run it with sudo now? [Y/n] ' >&2
        read -r answer
        case $answer in [Nn]*) exit 2 ;; esac
        sudo -v || exit 2 # asks for the password here, where it can be seen
    fi
fi

# One line for every 25 packages; all of apt's own words go to the log.
log=.shardlings/setup.log
mkdir -p .shardlings
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-}" .shardlings # by sudo scripts/setup.sh
progress() {
    tee "$log" | awk '
        /^[0-9]+ upgraded, / { total = $1 + $3; print "    " total " packages, with what they need" }
        /^Need to get /      { print "    " $4 " " $5 " to download" }
        /^Setting up /       { if (++done % 25 == 0) print "    " done " of " total " set up" }
        /^setup: /           { status = $2 }
        { fflush() }
        END { exit status }' >&2
}
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300"
# shellcheck disable=SC2086 # words are meant to be split
if ! {
    $apt update 2>&1
    status=0
    $apt ${install#apt-get } 2>&1 || status=$?
    echo "setup: $status"
} </dev/null | progress; then
    tail -n 5 "$log" >&2
    say "Installing failed (all of it: $log). Run the line above yourself, and start again."
    exit 2
fi
say "    installed"
