#!/usr/bin/env bash
# The Program Metadata program, built from its authors' sources at one commit, for the tests of `publish-idl`. No registry
# has it, so it comes by git: from MCPSOL_PROGRAM_METADATA (a repository on this machine), else from where it is kept.
# Where neither is to be had, its tests are left out, and say so. The .so stays in the cache, one a commit and compiler.
. "$(dirname "$0")/lib.sh"
commit=75ea1f14cecb00b57aff4287dbfda022e03d4865
origin=${MCPSOL_PROGRAM_METADATA:-https://github.com/solana-program/program-metadata}
store=$MCPSOL_CACHE/program-metadata/${commit:0:12}
so=$store/spl_program_metadata.so

[ -e "$so" ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git init -q "$work"
if ! timeout 60 git -C "$work" fetch -q --depth 1 "$origin" "$commit" 2>"$work/why"; then
    say "the Program Metadata program cannot be had from $origin: $(tail -n 1 "$work/why")"
    exit 0
fi
git -C "$work" checkout -q FETCH_HEAD
rm -f "$work/rust-toolchain.toml" # it asks for rustup's compiler; ours is Debian's
say "the Program Metadata program -> $store"
mkdir -p "$store"
.venv/bin/idl2mcp build "$work/program" --out "$store.part" >&2
mv "$store.part"/* "$store/" && rmdir "$store.part"
