#!/usr/bin/env bash
# Makes every generated, committed file anew. Each part that owns such files has a script tests/golden/**/regen.py.
. "$(dirname "$0")/lib.sh"
shopt -s globstar nullglob
for script in tests/golden/regen.py tests/golden/**/regen.py; do
    say "$script"
    .venv/bin/python "$script"
done
