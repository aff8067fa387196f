#!/usr/bin/env bash
# Builds the documentation site into site/. A dead link is an error.
. "$(dirname "$0")/lib.sh"
.ci/python.sh docs
"$MCPSOL_CACHE/docs-venv/bin/python" .ci/docs_site.py build/docs
"$MCPSOL_CACHE/docs-venv/bin/zensical" build --clean --strict
say "site/index.html"
