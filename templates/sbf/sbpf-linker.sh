#!/bin/sh
# Starts sbpf-linker on LLVM 23, which newer Debian has and this one has not: the library stands in an unpacked tree ($HERE/sid), and so does
# the loader that can start it. install.sh puts this file beside both.
HERE=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
R=$HERE/sid
LIBS=$R/usr/lib/$(uname -m)-linux-gnu
# The folder llvm23 holds libLLVM 23 and nothing else: the linker takes the first LLVM it finds on this path.
export LD_LIBRARY_PATH="$HERE/llvm23"
for LOADER in "$R"/lib64/ld-linux-*.so.2 "$R"/lib/ld-linux-*.so.1; do
    [ -e "$LOADER" ] && exec "$LOADER" --library-path "$HERE/llvm23:$LIBS" "$HERE/bin/sbpf-linker" "$@"
done
echo "sbpf-linker.sh: no loader in $R; run install.sh again" >&2
exit 1
