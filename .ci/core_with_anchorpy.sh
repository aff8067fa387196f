#!/usr/bin/env bash
# The core's tests in the environment that anchorpy's pins and our own lower bounds give (solders 0.26, solana 0.36, no mcp,
# no x402), and those that need anchorpy itself (tests/with_anchorpy, which no other run collects).
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$PWD HYPOTHESIS_PROFILE="${HYPOTHESIS_PROFILE:-again}"
# What is slow compiles Rust or runs type checkers, which know nothing of these versions.
# anchorpy's pytest plugin wants a package that anchorpy does not depend on; mypy is not in this environment; the command
# line's local cluster lists accounts by owner, which solders' LiteSVM can from 0.27 on; `attack` runs on the newest; keys,
# telemetry and what serves need the extras of the bridge.
exec "$MCPSOL_CACHE/anchorpy-venv/bin/python" -m pytest -p no:pytest_anchorpy -m "not slow and not full" \
    tests/unit tests/with_anchorpy --ignore tests/unit/bridge --ignore tests/unit/x402 \
    --ignore tests/unit/idl2mcp/test_local.py --ignore tests/unit/attack --ignore tests/unit/telemetry \
    --ignore tests/unit/client/test_keys.py --ignore tests/unit/idl2mcp/test_serving_http.py \
    --deselect tests/unit/sources/test_spec.py::test_mypy_strict_accepts_the_committed_specs_and_sees_through_them "$@"
