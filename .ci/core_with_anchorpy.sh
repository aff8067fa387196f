#!/usr/bin/env bash
# The core's tests in the environment that anchorpy's pins and our own lower bounds give (solders 0.26, solana 0.36, no mcp,
# no x402), and those that need anchorpy itself (tests/with_anchorpy, which no other run collects).
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$PWD
# anchorpy's pytest plugin wants a package that anchorpy does not depend on.
exec "$MCPSOL_CACHE/anchorpy-venv/bin/python" -m pytest -p no:pytest_anchorpy \
    tests/unit tests/with_anchorpy --ignore tests/unit/bridge --ignore tests/unit/x402 "$@"
