#!/bin/sh
# Installs solana-test-validator, for the tests that want a real node. It is built from source, about 25 minutes on two cores, once: later runs
# find it in the cache and end at once.
#
#   MCPSOL_VALIDATOR   the folder to install into (default ~/.cache/mcpsol/validator)
set -eu

DEST=${MCPSOL_VALIDATOR:-$HOME/.cache/mcpsol/validator}
VERSION=4.0.0
PACKAGES="protobuf-compiler libclang-dev libudev-dev libssl-dev pkg-config cmake"
BINARY=$DEST/bin/solana-test-validator

say() { printf 'validator: %s\n' "$*"; }

there() { [ -x "$BINARY" ] && "$BINARY" --version 2>/dev/null | grep -q " $VERSION "; }

if there; then
    say "ready: $BINARY"
    exit 0
fi
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
    cat >&2 <<TEXT
validator: this script builds it on Debian as root. Elsewhere install
  $PACKAGES
  a cargo of 1.95 or newer, and with it: cargo install agave-validator@$VERSION --bin solana-test-validator --locked --root $DEST
or take solana-test-validator from the Solana CLI.
TEXT
    exit 1
fi

mkdir -p "$DEST"
exec 9>"$DEST/.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
if there; then
    say "ready: $BINARY"
    exit 0
fi

missing=""
for package in $PACKAGES; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    say "installing$missing"
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $missing >"$DEST/apt.log" 2>&1 ||
        { tail -n 20 "$DEST/apt.log" >&2; exit 1; }
fi

# Debian's own cargo (package cargo-web, which `make sbf-toolchain` installs) where it stands, else the one on PATH.
cargo=cargo
if [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ]; then
    cargo=/usr/bin/cargo
    export RUSTC=/usr/bin/rustc
fi
say "building solana-test-validator $VERSION (about 25 minutes; its output is in $DEST/build.log)"
# Little optimisation and no debug information: it halves the build, and the tests' load is small.
CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0 "$cargo" install --locked --root "$DEST" --target-dir "$DEST/.build" \
    "agave-validator@$VERSION" --bin solana-test-validator >"$DEST/build.log" 2>&1 || { tail -n 40 "$DEST/build.log" >&2; exit 1; }
rm -rf "$DEST/.build"
there || { say "the binary in $DEST does not start"; exit 1; }
say "ready: $BINARY"
