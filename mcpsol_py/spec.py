"""The words that a Python spec is written in.

    from mcpsol_py.spec import program, instruction, Account, Mut, Signer, u64, has_one, seeds

A spec is a class with decorators and annotations. `mcpsol_py.load("spec.py")` reads it and `idl2mcp
render spec.py` writes the crate. `mcpsol_py.sources.spec_words` explains each word.
"""

from mcpsol_py.sources.spec_words import *  # noqa: F403  # exports every word
from mcpsol_py.sources.spec_words import __all__ as __all__
