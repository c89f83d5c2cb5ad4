#!/bin/sh
# Fetches CIFAR-10's binary version, verifies it, and unpacks it beside this script.
set -eu

url=https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
md5=c32a1d4ab5d03f1284b67883e8d87530
cd "$(dirname "$0")"

if [ -d cifar-10-batches-bin ]; then
    echo "datasets/cifar-10-batches-bin is there already."
    exit 0
fi
archive=cifar-10-binary.tar.gz
if [ ! -f "$archive" ]; then
    echo "Fetching $url (162 MB)"
    if command -v curl >/dev/null; then
        curl --fail --location --continue-at - --output "partial-$archive" "$url"
    elif command -v wget >/dev/null; then
        wget --continue --output-document="partial-$archive" "$url"
    else
        echo "Neither curl nor wget is installed: apt-get install curl" >&2
        exit 2
    fi
    mv "partial-$archive" "$archive"
fi
if ! echo "$md5  $archive" | md5sum --check --status; then
    echo "datasets/$archive does not have the MD5 sum $md5. Remove it, and run this again." >&2
    exit 1
fi
# unpacked beside, then renamed: a folder with that name is a whole one
unpacked=$(mktemp -d ./unpacked.XXXXXX)
trap 'rm -rf "$unpacked"' EXIT
tar -xzf "$archive" -C "$unpacked"
mv "$unpacked/cifar-10-batches-bin" .
echo "datasets/cifar-10-batches-bin: 50,000 pictures to train on, 10,000 to test on."
