#!/usr/bin/env bash
# All checks, cheapest first, each to its end: one run says everything that is red. The last line of output is a table.
. "$(dirname "$0")/lib.sh"
results=()
failed=0
step() {
    local name=$1 started=$SECONDS verdict=ok; shift
    say "$name"
    "$@" || { verdict=FAILED; failed=1; }
    results+=("$(printf '%-8s %5ds  %s' "$verdict" $((SECONDS - started)) "$name")")
}

make --no-print-directory setup || die "no Python environment, so nothing can be checked"
step lint make --no-print-directory lint
step types make --no-print-directory types
step layers make --no-print-directory layers
step oracles make --no-print-directory oracles
step chromium .ci/chromium.sh
if [ -x templates/sbf/install.sh ]; then step rust make --no-print-directory rust; fi
if [ -x .ci/program_metadata.sh ]; then step "program metadata" .ci/program_metadata.sh; fi
if [ -n "${CI:-}" ] && [ -x .ci/validator.sh ]; then step validator make --no-print-directory validator; fi
if [ -n "${CI:-}" ]; then step postgres .ci/postgres.sh; fi
# One node for all its tests, alone on the machine: it takes a core of its own.
step "tests on a validator" .venv/bin/python -m pytest tests/functional/validator
# One process a core, a file's tests in one of them, so that what a file sets up is set up once.
parallel=(-n auto --dist loadfile)
step "core with anchorpy" make --no-print-directory core-with-anchorpy ARGS="${parallel[*]}"
step tests .venv/bin/python -m pytest tests --ignore tests/functional/validator "${parallel[@]}"

say "summary"
printf '%s\n' "${results[@]}"
exit $failed
