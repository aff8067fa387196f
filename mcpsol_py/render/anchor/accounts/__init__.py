"""One instruction's accounts as Anchor writes them: a field with a type, and its constraints in an attribute.

The constraints check the same as the other targets do. What Anchor checks by an account's type (signer, owner,
discriminator, program) is left to the type. If Anchor's own error has another name than the other targets', the
constraint names the error.
"""

from mcpsol_py.render.anchor.accounts.build import anchor_accounts
from mcpsol_py.render.anchor.accounts.scope import AnchorAccount, AnchorAccounts

__all__ = ["AnchorAccount", "AnchorAccounts", "anchor_accounts"]
