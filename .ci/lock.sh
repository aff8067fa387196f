#!/usr/bin/env bash
# Renews the locks. No index address is written into them: each client asks the one it is set up with.
. "$(dirname "$0")/lib.sh"
compile() {
    local name=$1; shift
    say "requirements/$name.txt"
    .venv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
        --custom-compile-command "make lock" --output-file "requirements/$name.txt" "$@"
}
echo uv | compile bootstrap -
compile dev pyproject.toml --extra all --group dev
compile demo pyproject.toml --extra all --group build --constraint requirements/dev.txt
# At the lowest versions that pyproject.toml allows, so that the bounds it names are true.
compile anchorpy pyproject.toml --extra anchorpy --group test --group build --resolution lowest-direct

compile docs --group docs
compile fuzz --group fuzz
compile x402peer --group x402peer
compile frameworks --group frameworks
compile frameworks1 --group frameworks1

lock_npm() {
    say "$1/package-lock.json"
    # Made in a folder of its own, so that the links of an existing node_modules are not taken for the wanted tree.
    local work
    work=$(mktemp -d)
    cp "$1/package.json" "$1/.npmrc" "$work/"
    (cd "$work" && npm install --package-lock-only --ignore-scripts --loglevel=error)
    cp "$work/package-lock.json" "$1/package-lock.json"
    rm -rf "$work"
}
lock_npm tests/oracles
lock_npm tests/oracles/x402
lock_npm tests/oracles/x402-http
lock_npm tests/oracles/pyright
lock_npm tests/oracles/facilitators
lock_npm tests/oracles/frameworks
lock_npm tests/oracles/apps
lock_npm clients/typescript
for crate in tests/oracles/x402-rs tests/oracles/frameworks/rmcp; do
    say "$crate/Cargo.lock"
    cargo update --quiet --manifest-path $crate/Cargo.toml
done
say "tests/oracles/frameworks/go/go.sum"
(cd tests/oracles/frameworks/go && go get -u ./... && go mod tidy)
.venv/bin/python .ci/interop_page.py
