#!/bin/sh
# Compiles a .cu file for the host: `compile_kernels.sh COMPILER FLAGS... -c FILE.cu`. The one thing in it
# that C++ does not know is the launch: kernel<<<blocks, threads, 0, stream>>>(arguments) becomes
# dist::stand_in::launch(kernel, blocks, threads, 0, stream)(arguments). The rest is in kernels.hpp.
# DWARF 4, because addr2line takes the file that a #line names for standard input in version 5.
set -eu
here=$(dirname "$0")
count=$#
source=
while [ "$count" -gt 0 ]; do
    word=$1
    shift
    count=$((count - 1))
    if [ "$word" = -c ]; then
        source=$1
        shift
        count=$((count - 1))
    else
        set -- "$@" "$word"
    fi
done
{
    printf '#line 1 "%s"\n' "$source"
    sed -E -z 's/([A-Za-z_][A-Za-z_0-9:]*(<[^<>;]*>)?)[[:space:]]*<<<([^;]*)>>>/::dist::stand_in::launch(\1, \3)/g' "$source"
} | "$@" -gdwarf-4 -include "$here/kernels.hpp" -iquote "$(dirname "$source")" -x c++ -c -
