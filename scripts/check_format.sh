#!/usr/bin/env bash
# Every C++ file is laid out as .clang-format says. The rules are those of version 14; others differ.
set -euo pipefail
cd "$(dirname "$0")/.."

for format in clang-format-14 clang-format; do
    if command -v "$format" >/dev/null && "$format" --version | grep -q 'version 14\.'; then
        passed=0 failed=0
        while read -r file; do
            if "$format" --dry-run -Werror "$file" 2>/dev/null; then
                passed=$((passed + 1))
            else
                echo "$file: clang-format -i changes it"
                failed=$((failed + 1))
            fi
        done < <(git ls-files '*.cpp' '*.hpp' '*.cu')
        echo "$passed passed, $failed failed, 0 skipped"
        exit $((failed > 0))
    fi
done
echo "skipped: clang-format 14 is not installed"
echo "0 passed, 0 failed, 1 skipped"
