#!/usr/bin/env bash
# rustfmt, clippy and cargo test over the workspace in programs/, rustfmt and clippy over the other targets' programs and the benchmarks' peers, and rustfmt
# over the canaries (which only the compiler for the SVM can build), with Debian's Rust where it is installed: the one that builds the programs.
. "$(dirname "$0")/lib.sh"
if [ -x /usr/bin/cargo ]; then export PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc; fi
command -v cargo >/dev/null || die "cargo is missing: install Rust 1.96 or newer with rustfmt and clippy"
export CARGO_TARGET_DIR=$MCPSOL_CACHE/cargo-target
(cd tests/canaries && cargo fmt --all --check)
for target in native pinocchio anchor; do
    (cd tests/targets/$target && cargo fmt --all --check && cargo clippy --workspace --locked --quiet -- --deny warnings)
done
(cd tests/oracles/x402-rs && cargo fmt --check) # `make peers` compiles it
for peer in benchmarks/plain_*; do
    (cd $peer && cargo fmt --check && cargo clippy --locked --quiet -- --deny warnings)
done
cd programs
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- --deny warnings
cargo test --workspace --quiet
