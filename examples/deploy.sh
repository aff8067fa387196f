# A program on a cluster, looked at, locked, upgraded. IDL2MCP_URL is the cluster's RPC, PAYER a key file of the Solana CLI.
# Run from the repository's root.
set -eu
folder=$(mktemp -d)
cp programs/counter/counter.so "$folder/"

idl2mcp deploy "$folder/counter.so" --payer "$PAYER" --dry-run # what it would do and cost
made=$(idl2mcp deploy "$folder/counter.so" --payer "$PAYER" --json)
id=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["program_id"])' "$made")
idl2mcp list-tools "$id"
idl2mcp verify "$folder/counter.so" --against "$id" --ignore address # the same schema, the same bytes
idl2mcp lock "$id" --out "$folder/counter.lock"

# A larger version, under the same id: its key pair lies beside the .so.
cp programs/vault/vault.so "$folder/counter.so"
idl2mcp deploy "$folder/counter.so" --payer "$PAYER"
! idl2mcp verify "$id" --lock "$folder/counter.lock" >"$folder/drift" # exit code 1
tail -n 1 "$folder/drift"
