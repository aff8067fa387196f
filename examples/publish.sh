# The IDL of a deployed program, where explorers and Anchor look for it, and back. IDL2MCP_URL and PAYER as in deploy.sh; PROGRAM is
# the program's id, whose upgrade authority PAYER is.
set -eu
folder=$(mktemp -d)

idl2mcp publish-idl programs/counter/spec.py --program "$PROGRAM" --payer "$PAYER"
idl2mcp fetch "$PROGRAM" --url "$IDL2MCP_URL" --out "$folder/idl.json"
idl2mcp verify programs/counter/spec.py --against "$folder/idl.json" --ignore address
