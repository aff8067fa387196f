#!/usr/bin/env bash
# All checks, cheapest first, each to its end: one run says everything that is red. Output ends with a table, and after it
# what failed by name: of a long log, CI may show only the last lines.
# What takes one core, or mostly waits, runs beside the others; what it says is printed when its turn comes.
. "$(dirname "$0")/lib.sh"
results=()
failed=0
logs=$(mktemp -d)

# Also when this is interrupted, no step outlives it: each of those beside has a process group of its own.
end_all() {
    local pid
    for pid in $(jobs -p); do kill -INT -- "-$pid" 2>/dev/null || true; done # pytest tears down what it set up
    for _ in {1..50}; do
        [ -n "$(jobs -rp)" ] || break
        sleep 0.2
    done
    for pid in $(jobs -rp); do kill -TERM -- "-$pid" 2>/dev/null || true; done
    wait
    rm -rf "$logs"
}
trap end_all EXIT
trap 'exit 130' INT TERM

record() { results+=("$(printf '%-8s %5ds  %s' "$2" "$3" "$1")"); [ "$2" = ok ] || failed=1; } # NAME VERDICT SECONDS

step() { # NAME COMMAND...
    local name=$1 started=$SECONDS verdict=ok; shift
    say "$name"
    "$@" 2>&1 | tee "$logs/$name" || verdict=FAILED
    record "$name" "$verdict" $((SECONDS - started))
}

begin() { # NAME COMMAND...: starts a step beside the following ones, until `finish NAME`
    local name=$1; shift
    set -m
    { SECONDS=0; verdict=ok; "$@" || verdict=FAILED; echo "$verdict $SECONDS" >"$logs/$name.end"; } \
        </dev/null >"$logs/$name" 2>&1 &
    set +m
    echo $! >"$logs/$name.pid"
}

finish() { # NAME
    local name=$1 verdict=FAILED seconds=0
    say "$name"
    wait "$(cat "$logs/$name.pid")" || true
    cat "$logs/$name"
    read -r verdict seconds <"$logs/$name.end" || true
    record "$name" "$verdict" "$seconds"
}

culprits() { # NAME: pytest's lines of what failed; where there are none, how the step's output ends
    grep -aE '^(FAILED|ERROR) ' "$logs/$1" | cut -c 1-400 | head -n 6 || tail -n 8 "$logs/$1" | cut -c 1-400
}

make --no-print-directory setup || die "no Python environment, so nothing can be checked"
begin types make --no-print-directory types
step lint make --no-print-directory lint
step layers make --no-print-directory layers
step docs make --no-print-directory docs
step oracles make --no-print-directory oracles
step chromium .ci/chromium.sh
if [ -x templates/sbf/install.sh ]; then step rust make --no-print-directory rust; fi
if [ -x .ci/program_metadata.sh ]; then step "program metadata" .ci/program_metadata.sh; fi
if [ -n "${CI:-}" ] && [ -x .ci/validator.sh ]; then step validator make --no-print-directory validator; fi
if [ -n "${CI:-}" ]; then step postgres .ci/postgres.sh; fi
finish types
# One node for all its tests, which mostly wait for its blocks.
begin "tests on a validator" .venv/bin/python -m pytest tests/functional/validator
# One process a core and one more, because tests wait for servers and commands that they start. A file's tests run in
# one process, so that what a file sets up is set up once; in the order of tests/conftest.py.
parallel=(-n "$(($(nproc) + 1))" --dist loadfile --no-loadscope-reorder)
step "core with anchorpy" make --no-print-directory core-with-anchorpy ARGS="${parallel[*]}"
step tests .venv/bin/python -m pytest tests --ignore tests/functional/validator "${parallel[@]}"
finish "tests on a validator"

say "summary"
printf '%s\n' "${results[@]}"
for result in "${results[@]}"; do
    case $result in FAILED*) culprits "${result##*s  }" ;; esac
done
exit $failed
