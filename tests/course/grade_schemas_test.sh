#!/usr/bin/env bash
# Every document that grading writes, against the schema of who reads it. grade_schemas_test.sh GRADE_TEST
set -euo pipefail
cd "$(dirname "$0")"
for needed in xmllint python3; do
    command -v "$needed" >/dev/null || { echo "$needed is not installed"; exit 77; }
done
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3-jsonschema is not installed"; exit 77; }

documents=$(mktemp -d)
trap 'rm -rf "$documents"' EXIT
SCHEMA_DOCUMENTS=$documents "$1" "documents for their schemas" >/dev/null

xmllint --noout --schema schemas/junit.xsd "$documents/junit.xml"
# its HTML is that of 1999: a section is new to it
if xmllint --noout --html "$documents/report.html" 2>&1 | grep 'parser error' | grep -v 'Tag section invalid'; then
    exit 1
fi
python3 - "$documents" <<'PYTHON'
import json, pathlib, sys
import jsonschema

documents = pathlib.Path(sys.argv[1])
count = 0
for name in ("native", "gradescope", "exercism"):
    schema = json.loads(pathlib.Path(f"schemas/{name}.schema.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    for file in sorted((documents / name).rglob("*.json")):
        errors = [f"{file.name}: {error.message}" for error in validator.iter_errors(json.loads(file.read_text()))]
        assert not errors, errors
        count += 1
    # and one that is wrong is told
    wrong = json.loads(file.read_text())
    wrong["tests"] = "none"
    assert list(validator.iter_errors(wrong)), f"{name}: its schema takes anything"
assert count > 60, count
print(f"{count} documents are what their schemas say")
PYTHON
