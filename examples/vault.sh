# Tokens into the vault and out again, with four processes that share one ledger. Run from the repository's root.
set -eu
folder=$(mktemp -d)
call() {
    idl2mcp call vault "$@" --setup examples/vault.setup.toml --ledger "$folder/ledger.json" --mode send
}

# the vault's address is derived; the first call tells it
made=$(call initialize --accounts '{"mint": "@coin", "authority": "@alice"}' --json)
vault=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["accounts"][0]["address"])' "$made")

call deposit --args '{"amount": "400000"}' \
    --accounts "{\"vault\": \"$vault\", \"source\": \"@alice_coin\", \"mint\": \"@coin\", \"depositor\": \"@alice\"}"
call withdraw --args '{"amount": "150000"}' \
    --accounts "{\"destination\": \"@alice_coin\", \"mint\": \"@coin\", \"authority\": \"@alice\"}"

# mallory is not the vault's authority: exit code 3, and the error has a name
! call withdraw --args '{"amount": "1"}' \
    --accounts "{\"vault\": \"$vault\", \"destination\": \"@mallory_coin\", \"mint\": \"@coin\", \"authority\": \"@mallory\"}"
