#!/usr/bin/env bash
# The core's tests (marked `core`) in the environment that anchorpy's pins give: solders 0.26, solana 0.36, no mcp.
. "$(dirname "$0")/lib.sh"
"$MCPSOL_CACHE/anchorpy-venv/bin/python" -m pytest tests -m core "$@"
