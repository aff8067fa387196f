"""Reads Python specs: a decorated class, its module or its file.

| module | reads |
|---|---|
| program.py | the program class: errors, constants, events, instructions |
| definitions.py | structs, enums, account state |
| annotations.py | type annotations |
| instruction.py | a method and its parameters |
| parameters.py | one parameter, and the names that constraints refer to |
| constraints.py | the constraints of an account |
| seeds.py | seeds and bumps |
| docstrings.py | docstrings |
| file.py, lines.py | the file: importing it, and the line of each part |
| checks.py | what needs the whole program: clashes of names, codes and discriminators |

The words that authors write are in `sources.spec_words`; authors import them from `mcpsol_py.spec`.
"""

from mcpsol_py.sources.spec.program import read_spec

__all__ = ["read_spec"]
