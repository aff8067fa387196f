"""What a Python spec is written with: `from mcpsol_py.spec import program, instruction, Account, Mut, Signer, u64,
has_one, seeds`.

A spec is a class with decorators and annotations; `mcpsol_py.load("spec.py")` reads it, `idl2mcp render spec.py` makes
the crate. The words are explained in `mcpsol_py.sources.spec_words`.
"""

from mcpsol_py.sources.spec_words import *  # noqa: F403  # all its words are meant
from mcpsol_py.sources.spec_words import __all__ as __all__
