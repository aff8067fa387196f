#!/usr/bin/env bash
# python.sh dev|demo|anchorpy|x402peer|docs: the virtual environment that requirements/<name>.txt locks.
# dev and demo are one, .venv (dev holds all of demo at the same versions), with this project in it, editable. The pins of
# anchorpy and of x402's own mechanisms need environments of their own; checkouts share them, so this project is not in
# them, and comes by PYTHONPATH where it is wanted.
. "$(dirname "$0")/lib.sh"
name=$1
lock=requirements/$name.txt
case $name in dev|demo) venv=.venv apart= ;; *) venv=$MCPSOL_CACHE/$name-venv apart=1 ;; esac

# An environment is current while what it was filled from is the same: the lock, and with this project in it its metadata
# and its place.
stamp() {
    if [ -n "$apart" ]; then sha256sum "requirements/$1.txt"; else sha256sum "requirements/$1.txt" pyproject.toml; pwd; fi
}
is_current() { [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.filled-from-$1" 2>/dev/null)" = "$(stamp "$1")" ]; }
if is_current "$name" || { [ "$name" = demo ] && is_current dev; }; then exit 0; fi

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'
find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v $candidate >/dev/null && $candidate -c "$new_enough" 2>/dev/null; then echo $candidate; return; fi
    done
    return 1
}

if ! .venv/bin/python -c "$new_enough" 2>/dev/null; then
    python=$(find_python) || { debian_install "Python 3.11 or newer" python3 python3-venv; python=$(find_python) || die \
        "no Python 3.11 or newer found; this system's package manager has an older one"; }
    say "new environment .venv ($($python --version))"
    # Debian keeps ensurepip in a package of its own.
    $python -c 'import ensurepip, venv' 2>/dev/null || debian_install "Python's venv module" \
        python3-venv "$($python -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    $python -m venv --clear .venv
fi
if [ ! -x .venv/bin/uv ]; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt
fi
[ -x "$venv/bin/python" ] || .venv/bin/uv venv --quiet --python .venv/bin/python "$venv"

say "filling $venv from $lock"
.venv/bin/uv pip install --quiet --python "$venv" --require-hashes -r "$lock"
if [ -z "$apart" ]; then .venv/bin/uv pip install --quiet --python "$venv" --no-deps --no-build-isolation -e .; fi
stamp "$name" > "$venv/.filled-from-$name"
