"""Reads Codama roots (standard "codama", 1.x): every node of the spec that says something about
bytes or addresses.

| module | nodes |
|---|---|
| program.py | roots, programs, instructions, accounts, events, errors |
| data_fields.py | arguments and fields, and the discriminators among them |
| types.py | types, counts and links to defined types |
| values.py | values, in the JSON form of their type |
| constants.py | values, as the bytes of their type |
| defaults.py | values that a client fills in, PDAs and seeds |
| nodes.py | the names that links refer to, and the keys that are not read |

The model's types follow Codama's, so types map one to one. Three things are made of several nodes:

- Leading arguments or fields that are always the same constant become the discriminator.
- A link to a PDA and the values of its seeds become one `Pda`.
- A link to a type of an additional program becomes "program::name".

Nodes and keys that say nothing about bytes or addresses (display, byteDeltas, subInstructions, …)
are counted and reported as findings.
"""

from mcpsol_py.sources.codama.program import read_codama

__all__ = ["read_codama"]
