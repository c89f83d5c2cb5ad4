#!/usr/bin/env bash
# Each of these prints something: where that does not arrive, one line says so, and the status is 1.
#
# usage: cli_full_disk_test.sh SHARDLINGS_CLI
set -u
[ -e /dev/full ] || exit 77
failed=0
for arguments in "list --json" "list" "--help" "--version" "bench --help"; do
    # shellcheck disable=SC2086
    said=$("$1" $arguments 2>&1 >/dev/full)
    status=$?
    if [ $status -ne 1 ] || [ "$said" != "shardlings: standard output: No space left on device" ]; then
        printf '%s > /dev/full: status %d, said "%s"\n' "$arguments" $status "$said"
        failed=1
    fi
done
exit $failed
