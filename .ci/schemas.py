"""Checks rows against a JSON Schema that the program prints: `schemas.py BINARY NAME good|bad FILE...`."""

import json
import subprocess
import sys
from pathlib import Path

from jsonschema import Draft202012Validator


def main(binary: str, name: str, expected: str, files: list[str]) -> None:
    printed = subprocess.run([binary, "schema", name], check=True, capture_output=True, text=True).stdout
    schema = json.loads(printed)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    rows = [
        (f"{file}:{number}", json.loads(line))
        for file in files
        for number, line in enumerate(Path(file).read_text(encoding="utf-8").splitlines(), 1)
        if line.strip()
    ]
    if not rows:
        sys.exit(f"{name}: there is no row")
    for place, row in rows:
        errors = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(row)]
        if expected == "good" and errors:
            sys.exit(f"{place}: {'; '.join(errors)}")
        if expected == "bad" and not errors:
            sys.exit(f"{place}: the schema of {name} lets it pass")
    print(f"{name}: {len(rows)} rows are {expected}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
