#!/usr/bin/env bash
# Chromium, for the tests of the explorer's pages. Debian's package is driven by playwright, which brings no browser of
# its own here. $MCPSOL_CHROMIUM names another one.
. "$(dirname "$0")/lib.sh"
for name in "${MCPSOL_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null; then exit 0; fi
done
debian_install "Chromium" chromium
