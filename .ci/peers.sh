#!/usr/bin/env bash
# Runs our tests against peers that are not in this repository. Their code and what is built from it stay in $MCPSOL_CACHE.
# Each peer is a function below; one whose source is not given is named as not run.
#   PEER_SOURCE=FOLDER   a checkout of github.com/solana-foundation/payment-channels, the audited program
. "$(dirname "$0")/lib.sh"

not_run() { printf 'NOT RUN  %s: %s\n' "$1" "$2"; }

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

payment_channels "$@"
