#!/usr/bin/env bash
# Runs our tests against other people's packages: those of npm and PyPI, the crates of x402-rs, and a program whose source is
# given. What is built stays in $MCPSOL_CACHE. docs/interop.md gets the outcome.
#   PEER_SOURCE=FOLDER   a checkout of github.com/solana-foundation/payment-channels, the audited program
. "$(dirname "$0")/lib.sh"

not_run() { printf 'NOT RUN  %s: %s\n' "$1" "$2"; }

# A program of the crates. Their compilation is left to one core at low priority, so that the machine stays usable.
build_x402_rs() {
    command -v cargo >/dev/null || die "cargo is missing: install Rust 1.93 or newer"
    say "x402-rs: building (ten minutes the first time)"
    CARGO_TARGET_DIR=$MCPSOL_CACHE/peers/cargo CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-1} \
        nice cargo build --quiet --locked --manifest-path tests/oracles/x402-rs/Cargo.toml
    export RUST_PEER=$MCPSOL_CACHE/peers/cargo/debug/x402-rs-peer
}

# Clients of the bridge in Go and Rust. Go is left out where it is missing: nothing else here needs it.
build_clients() {
    if command -v go >/dev/null; then
        say "mcp-go and go-sdk: building"
        (cd tests/oracles/frameworks/go && nice go build -o "$MCPSOL_CACHE/peers/go-peer" .)
        export GO_PEER=$MCPSOL_CACHE/peers/go-peer
    else
        not_run "mcp-go, go-sdk" "install Go 1.25 or newer"
    fi
    say "rmcp: building (five minutes the first time)"
    CARGO_TARGET_DIR=$MCPSOL_CACHE/peers/cargo CARGO_BUILD_JOBS=${CARGO_BUILD_JOBS:-1} \
        nice cargo build --quiet --locked --manifest-path tests/oracles/frameworks/rmcp/Cargo.toml
    export RMCP_PEER=$MCPSOL_CACHE/peers/cargo/debug/bridge-peer
}

# Agent frameworks, each in the environment that its pins need.
frameworks() {
    .ci/node.sh tests/oracles/frameworks
    .ci/python.sh frameworks
    .ci/python.sh frameworks1
    say "agent frameworks: the bridge under each"
    HYPOTHESIS_PROFILE=full .venv/bin/python -m pytest -q --no-header --junit-xml "$MCPSOL_CACHE/peers/frameworks.xml" \
        tests/functional/test_bridge_frameworks.py "$@" || return
    .venv/bin/python .ci/interop_page.py "$MCPSOL_CACHE/peers/frameworks.xml"
}

from_registries() {
    local results=$MCPSOL_CACHE/peers/results.xml tests=tests/functional verdict=0
    say "the packages of npm, PyPI and crates.io"
    CI=true .venv/bin/python -m pytest -q --no-header --junit-xml "$results" "$@" \
        $tests/test_x402_http_peers.py $tests/test_x402_http_upto.py $tests/test_x402_typescript.py \
        $tests/test_x402_play_money.py $tests/test_bridge_peers.py $tests/test_panel_browser.py \
        tests/unit/x402/selling/test_facilitator_auth.py || verdict=$?
    .venv/bin/python .ci/interop_page.py "$results"
    return $verdict
}

# The audited payment-channels program, built as tests can run it: our tests of channels at its address.
payment_channels() {
    local source=${PEER_SOURCE:-} crate=program/payment_channels
    local copy=$MCPSOL_CACHE/peers/payment-channels
    if [ -z "$source" ]; then
        not_run payment-channels "give PEER_SOURCE=FOLDER, a checkout of github.com/solana-foundation/payment-channels"
        return
    fi
    [ -f "$source/$crate/Cargo.toml" ] || die "expected $source to have $crate/Cargo.toml, as payment-channels has it."
    mkdir -p "$copy"
    cp -R "$source/Cargo.toml" "$source/Cargo.lock" "$source/clients" "$source/program" "$copy/"
    say "payment-channels: building (three minutes the first time)"
    .venv/bin/idl2mcp build "$copy/$crate" --route std >"$copy/build.log" 2>&1 || die "it does not build: see $copy/build.log."
    say "payment-channels: our tests of channels on it"
    AUDITED_CHANNELS=$copy/$crate/payment_channels.so \
        .venv/bin/python -m pytest -q --no-header -k audited tests/unit/x402/channels "$@"
}

# A cluster of processes on this machine, one of which is killed.
ray_data() {
    say "Ray Data: the example of docs/pipelines.md"
    HYPOTHESIS_PROFILE=full .venv/bin/python -m pytest -q --no-header tests/functional/test_pipelines_ray.py "$@"
}

payment_channels "$@"
ray_data "$@"
build_clients
frameworks "$@"
build_x402_rs
from_registries "$@"
