#!/usr/bin/env bash
# The Node oracles, as tests/oracles/package-lock.json locks them, and those of the folders there that have a lock of their
# own. They are kept in the cache, one folder a lock file, and node_modules beside each lock is a link to them. Node 22 comes
# with the former as an npm package, since some ask for it and Debian 12 has 18; any Node from 18 on will do to install them.
. "$(dirname "$0")/lib.sh"

install() {
    local folder=$1 lock=$1/package-lock.json store
    store=$MCPSOL_CACHE/node/$(sha256sum "$lock" | cut -c1-16)
    if [ ! -e "$store/.complete" ]; then
        if ! command -v npm >/dev/null || ! node -e 'process.exit(+process.versions.node.split(".")[0] >= 18 ? 0 : 1)' 2>/dev/null; then
            debian_install "Node 18 or newer with npm" nodejs npm
        fi
        say "node modules of $folder -> $store"
        rm -rf "$store" && mkdir -p "$store"
        cp "$folder/package.json" "$lock" "$folder/.npmrc" "$store/"
        # Install scripts only build optional speed-ups of websockets.
        (cd "$store" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
        # npm 9 leaves out the link of a command that two packages carry, one for each kind of processor.
        for locked in "$store"/node_modules/node-linux-*/bin/node; do
            if [ -x "$locked" ]; then ln -sfn "$locked" "$store/node_modules/.bin/node"; fi
        done
        touch "$store/.complete"
    fi
    ln -sfn "$store/node_modules" "$folder/node_modules"
}
mkdir -p "$MCPSOL_CACHE/node"
exec 9>"$MCPSOL_CACHE/node/.lock" && flock 9 # other checkouts on this machine install into the same cache
if [ $# = 0 ]; then
    set -- tests/oracles tests/oracles/{x402,x402-http,facilitators,apps,pyright} clients/typescript
fi
for folder in "$@"; do install "$folder"; done
