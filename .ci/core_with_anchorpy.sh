#!/usr/bin/env bash
# The core's tests in the environment that anchorpy's pins and our own lower bounds give (solders 0.26, solana 0.36, no mcp,
# no x402), and those that need anchorpy itself (tests/with_anchorpy, which no other run collects).
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$PWD HYPOTHESIS_PROFILE="${HYPOTHESIS_PROFILE:-again}"
# What is slow compiles Rust or runs type checkers, which know nothing of these versions.
# anchorpy's pytest plugin wants a package that anchorpy does not depend on; mypy is not in this environment; the command
# line's local cluster and some readings list accounts by owner, which solders' LiteSVM can from 0.27 on, and it minds rent from
# then on; its Token-2022 has no pauses; `attack`, twins of programs and what `build` measures run on the newest; tables need
# the extra arrow; solana-py 0.36 uses websockets' old names; keys, telemetry, what serves and the old names of all parts need
# the extras of the bridge.
left_out=(
    tests/unit/attack
    tests/unit/bridge
    tests/unit/catalog
    tests/unit/client/test_keys.py
    tests/unit/client/test_subscriptions.py
    tests/unit/idl2mcp/config/test_bridge_http.py
    tests/unit/idl2mcp/config/test_facilitators.py
    tests/unit/idl2mcp/test_local_cluster.py
    tests/unit/stubs
    tests/unit/pipelines
    tests/unit/sources/test_well_known.py
    tests/unit/tables
    tests/unit/telemetry
    tests/unit/test_build.py
    tests/unit/testing/test_machine.py
    tests/unit/testing/test_plugin.py
    tests/unit/testing/test_twin.py
    tests/unit/test_durations.py
    tests/unit/test_moved.py
    tests/unit/test_sync_client.py
    tests/unit/x402
)
deselected=(
    tests/unit/calls/test_reading.py::test_all_tokens_of_an_owner_where_no_mint_is_named
    tests/unit/calls/test_reading.py::test_of_many_accounts_only_those_that_are_told_are_read
    tests/unit/client/test_bounded.py::test_a_websocket_on_this_machine_is_not_opened_through_a_proxy
    tests/unit/client/test_odd_answers.py::test_a_keystore_that_cannot_be_written_is_refused
    tests/unit/client/test_odd_answers.py::test_any_keystore_file_is_opened_or_refused
    tests/unit/client/test_svm.py::test_an_airdrop_that_leaves_an_account_without_its_rent_fails
    tests/unit/client/test_svm_pubsub.py::test_our_client_follows_an_account_and_logs_by_solana_py
    tests/unit/sources/test_spec.py::test_mypy_strict_accepts_the_committed_specs_and_sees_through_them
    "tests/unit/testing/test_token_program.py::test_transfers_are_those_of_the_token_program[a paused mint]"
    "tests/unit/testing/test_token_program.py::test_transfers_are_those_of_the_token_program[one that could be paused, unnamed]"
    "tests/unit/test_lazy_exports.py::test_every_exported_name_can_be_imported[mcpsol_py.x402]"
)
exec "$MCPSOL_CACHE/anchorpy-venv/bin/python" -m pytest -p no:pytest_anchorpy -m "not slow and not full" \
    tests/unit tests/with_anchorpy "${left_out[@]/#/--ignore=}" "${deselected[@]/#/--deselect=}" "$@"
