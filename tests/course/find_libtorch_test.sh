#!/usr/bin/env bash
# Whatever names a LibTorch is taken, first and later: variables of CMake's and of the environment's.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# two that look like LibTorch to who searches
for version in 2.6.0 2.14.1; do
    folder=$work/torch-$version
    IFS=. read -r major minor patch <<<"$version"
    mkdir -p "$folder"/{lib,share/cmake/Torch,include/torch/csrc/api/include/torch}
    touch "$folder"/lib/lib{torch,torch_cpu,c10}.so "$folder/include/torch/csrc/api/include/torch/torch.h"
    printf '#define TORCH_VERSION_MAJOR %s\n#define TORCH_VERSION_MINOR %s\n#define TORCH_VERSION_PATCH %s\n' \
        "$major" "$minor" "$patch" >"$folder/include/torch/csrc/api/include/torch/version.h"
done
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.22)
project(finds LANGUAGES NONE)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
list(APPEND CMAKE_MODULE_PATH $root/scripts/cmake)
find_package(LibTorch QUIET)
message(STATUS "took \${LibTorch_VERSION} \${LibTorch_torch_LIBRARY}")
EOF

failed=0
expect() { # VERSION WHAT, then variables and the command's words
    local version=$1 what=$2 took
    shift 2
    took=$(env -u LibTorch_ROOT -u Torch_ROOT -u TORCH_ROOT -u LIBTORCH -u Torch_DIR -u CMAKE_PREFIX_PATH "$@" 2>&1 |
        grep -E '^-- took|CMake Error' || true)
    if [[ $took == "-- took $version $work/torch-$version/lib/libtorch.so" ]]; then
        echo "  pass  $what"
    else
        echo "  FAIL  $what: expected $version, got: $took"
        failed=1
    fi
}
old=$work/torch-2.6.0 new=$work/torch-2.14.1
for name in LibTorch_ROOT Torch_ROOT TORCH_ROOT LIBTORCH; do
    expect 2.6.0 "$name of the environment" "$name=$old" cmake -G Ninja -S "$work/project" -B "$work/$name"
    expect 2.14.1 "$name, another later" "$name=$new" cmake -G Ninja -S "$work/project" -B "$work/$name"
    expect 2.14.1 "$name, named no longer" cmake -G Ninja -S "$work/project" -B "$work/$name"
done
expect 2.6.0 "Torch_DIR of the environment" "Torch_DIR=$old/share/cmake/Torch" cmake -G Ninja -S "$work/project" -B "$work/dir"
expect 2.14.1 "Torch_DIR, given to CMake later" cmake -G Ninja -S "$work/project" -B "$work/dir" "-DTorch_DIR=$new/share/cmake/Torch"
expect 2.6.0 "CMAKE_PREFIX_PATH, its folder" "CMAKE_PREFIX_PATH=/nowhere:$old" cmake -G Ninja -S "$work/project" -B "$work/prefix"
expect 2.14.1 "CMAKE_PREFIX_PATH, its share/cmake, as PyTorch says" "CMAKE_PREFIX_PATH=$new/share/cmake" \
    cmake -G Ninja -S "$work/project" -B "$work/prefix"
exit $failed
