#!/bin/sh
# Installs what `idl2mcp build` needs where `cargo build-sbf` cannot be had: Debian's rustc with its sources, sbpf-linker, LLVM 23 for it, and a
# copy of the standard library that knows the SVM. Safe to run again: each step is skipped when its result is there.
#
#   MCPSOL_TOOLCHAIN   the folder to install into (default $MCPSOL_CACHE/sbf, that is ~/.cache/mcpsol/sbf)
set -eu

HERE=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
DEST=${MCPSOL_TOOLCHAIN:-${MCPSOL_CACHE:-$HOME/.cache/mcpsol}/sbf}
LINKER_VERSION=0.2.6
RUST_PACKAGES="rustc-web cargo-web rust-web-src rustfmt-web rust-web-clippy"
PACKAGES="$RUST_PACKAGES debootstrap gcc libc6-dev python3-minimal"
# What this script makes, as one word: a later version of it that makes something else installs over the old.
RECIPE="1 sbpf-linker-$LINKER_VERSION llvm-23 files-$(cat "$HERE/std_for_sbf.py" "$HERE/sbpf-linker.sh" "$HERE/sbpf-solana.json" | cksum | cut -d' ' -f1)"

say() { printf 'sbf-toolchain: %s\n' "$*"; }

rust_version() { /usr/bin/rustc --version 2>/dev/null | cut -d' ' -f2; }

complete() {
    [ "$(cat "$DEST/recipe" 2>/dev/null)" = "$RECIPE rustc-$(rust_version)" ] && [ -x "$DEST/bin/sbpf-linker" ] && [ -x /usr/bin/cargo ] &&
        "$DEST/sbpf-linker.sh" --version >/dev/null 2>&1
}

if complete; then
    say "ready in $DEST"
    exit 0
fi

by_hand() {
    cat >&2 <<TEXT
sbf-toolchain: $1
It wants, as root on Debian 12 or newer:
  - the packages $PACKAGES
  - sbpf-linker $LINKER_VERSION (cargo install sbpf-linker@$LINKER_VERSION --locked)
  - LLVM 23 (package libllvm23 of Debian's unstable suite)
Elsewhere install the Solana CLI: idl2mcp build uses its \`cargo build-sbf\` whenever that is on PATH.
TEXT
    exit 1
}

command -v apt-get >/dev/null 2>&1 || by_hand "this machine has no apt-get."
[ "$(id -u)" = 0 ] || by_hand "you are not root."

mkdir -p "$DEST"
exec 9>"$DEST/.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
if complete; then
    say "ready in $DEST"
    exit 0
fi
rm -f "$DEST/recipe"

missing=""
for package in $PACKAGES; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    say "installing$missing"
    apt-get -qq update
    # Fails here, by name, where this Debian has no such package.
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $missing >"$DEST/apt.log" 2>&1 ||
        { tail -n 20 "$DEST/apt.log" >&2; by_hand "apt-get could not install$missing."; }
fi

if [ ! -x "$DEST/bin/sbpf-linker" ] || ! grep -qs "\"sbpf-linker $LINKER_VERSION " "$DEST/.crates.toml"; then
    say "building sbpf-linker $LINKER_VERSION (about a minute)"
    RUSTC=/usr/bin/rustc RUSTFLAGS='' /usr/bin/cargo install --quiet --locked --force --root "$DEST" --target-dir "$DEST/.build" \
        "sbpf-linker@$LINKER_VERSION"
    rm -rf "$DEST/.build"
fi

if [ ! -e "$DEST/llvm23/version" ]; then
    # The mirror that this machine's own apt uses for Debian proper.
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(SITE) $(REPO_URI)' 'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "Debian" { print $4; exit }')
    [ -n "$mirror" ] || by_hand "apt's sources name no Debian mirror to take libllvm23 from."
    say "unpacking libllvm23 from Debian's unstable suite (about 20 s)"
    rm -rf "$DEST/sid" "$DEST/llvm23"
    debootstrap --variant=minbase --include=libllvm23 sid "$DEST/sid" "$mirror" >"$DEST/debootstrap.log" 2>&1 ||
        { tail -n 20 "$DEST/debootstrap.log" >&2; exit 1; }
    # Of that tree only the libraries and their loader are wanted. libLLVM stands alone: the linker takes the first LLVM in its folder.
    libraries=$DEST/sid/usr/lib/$(uname -m)-linux-gnu
    mkdir -p "$DEST/llvm23/lib"
    cp -L "$libraries"/libLLVM.so.23* "$DEST/llvm23/lib/libLLVM.so"
    rm -f "$libraries"/libLLVM*
    mv "$libraries" "$DEST/llvm23/system"
    dpkg-query --admindir="$DEST/sid/var/lib/dpkg" -W -f='${Version}\n' libllvm23 >"$DEST/llvm23/version"
    rm -rf "$DEST/sid"
fi

say "copying the standard library's sources"
rm -rf "$DEST/std"
library=$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library
python3 "$HERE/std_for_sbf.py" "$library" "$DEST/std/library"
cp "$HERE/sbpf-linker.sh" "$HERE/sbpf-solana.json" "$DEST/"
chmod 755 "$DEST/sbpf-linker.sh"

"$DEST/sbpf-linker.sh" --version >/dev/null || by_hand "the linker does not start."
printf '%s\n' "$RECIPE rustc-$(rust_version)" >"$DEST/recipe"
say "ready in $DEST ($(du -sh "$DEST" | cut -f1))"
