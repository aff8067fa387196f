# Sourced by the scripts beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export MCPSOL_CACHE="${MCPSOL_CACHE:-$HOME/.cache/mcpsol}"
mkdir -p "$MCPSOL_CACHE"

say() { printf '\033[1m== %s\033[0m\n' "$*" >&2; }
die() { printf 'Error: %s\n' "$*" >&2; exit 1; }

# debian_install WHAT-FOR PACKAGE...: installs Debian packages where that is possible, else says which ones are missing.
debian_install() {
    local purpose=$1; shift
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        die "$purpose is missing. On Debian: sudo apt-get install $*; elsewhere install what these packages hold."
    fi
    say "$purpose: apt-get install $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1 || {
        apt-get update -q >/dev/null
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null
    }
}
