#!/usr/bin/env bash
# Makes every generated, committed file anew. A part that owns such files has a script tests/golden/**/regen.py.
. "$(dirname "$0")/lib.sh"
shopt -s globstar nullglob
for script in tests/golden/**/regen.py; do
    say "$script"
    .venv/bin/python "$script"
done
say "docs"
.venv/bin/python .ci/layout.py --write
.venv/bin/python .ci/snippets.py --write
