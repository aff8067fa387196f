#!/bin/sh
# Starts sbpf-linker on LLVM 23, which newer Debian has and this one has not: the library stands beside this file, and so do the C library and
# the loader that can start it. install.sh puts them there.
#
#   MCPSOL_IR   a folder: the linked module's LLVM IR is written to $MCPSOL_IR/<output file>/, for mcpsol_py.build.ir_check
set -eu
HERE=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

if [ -n "${MCPSOL_IR:-}" ]; then
    output='' before=''
    for argument; do
        if [ "$before" = -o ]; then output=$argument; fi
        before=$argument
    done
    if [ -n "$output" ]; then set -- "$@" --dump-module "$MCPSOL_IR/$(basename "$output")"; fi
fi
# The linker looks for LLVM along this path, and the folder holds nothing else.
export LD_LIBRARY_PATH="$HERE/llvm23/lib"
for loader in "$HERE"/llvm23/system/ld-linux-*.so.*; do
    exec "$loader" --library-path "$HERE/llvm23/lib:$HERE/llvm23/system" "$HERE/bin/sbpf-linker" "$@"
done
