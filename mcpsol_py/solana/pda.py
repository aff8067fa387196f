"""Program-derived addresses, and the associated token address among them.

>>> owner = Pubkey.from_string("B5UFqXvWJfBTCoG62QhTqY7FkY3yWzSb9bF6dnwUVGeh")
>>> address, bump = find_pda([b"metadata"], owner)
>>> find_pda([b"metadata", bytes([bump])], owner)[0] == address
False
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from solders.pubkey import Pubkey

from mcpsol_py.errors import PdaError
from mcpsol_py.solana.addresses import ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM

__all__ = [
    "MAX_SEEDS",
    "MAX_SEED_BYTES",
    "anchor_idl_address",
    "associated_token",
    "event_authority",
    "find_pda",
]

#: The runtime takes 16 seeds, the bump among them, of 32 bytes each (solana-pubkey: MAX_SEEDS, MAX_SEED_LEN).
MAX_SEEDS = 15
MAX_SEED_BYTES = 32


def find_pda(
    seeds: Sequence[bytes], program: Pubkey, *, account: str = "address"
) -> tuple[Pubkey, int]:
    """The address that *seeds* and *program* give, and its bump (255 downwards, the first off the curve).

    Raises PdaError, naming *account*, for more than 15 seeds or one over 32 bytes: the runtime would refuse them, and a
    library that hashes or cuts them derives an address that the program does not know.
    """
    if len(seeds) > MAX_SEEDS:
        raise PdaError(
            account,
            f"{len(seeds)} seeds; an address takes at most {MAX_SEEDS} and its bump. Look at the IDL's seeds.",
        )
    for place, seed in enumerate(seeds):
        if len(seed) > MAX_SEED_BYTES:
            raise PdaError(
                account,
                f"seed {place + 1} has {len(seed)} bytes; a seed holds {MAX_SEED_BYTES}. Shorten its value.",
            )
    return _derived(tuple(map(bytes, seeds)), program)


# As below: a wallet's calls derive the same few addresses again and again.
@lru_cache(maxsize=4096)
def _derived(seeds: tuple[bytes, ...], program: Pubkey) -> tuple[Pubkey, int]:
    return Pubkey.find_program_address(list(seeds), program)


@lru_cache(maxsize=4096)
def associated_token(
    owner: Pubkey, mint: Pubkey, token_program: Pubkey = TOKEN_PROGRAM
) -> Pubkey:
    """Return the associated token account (ATA) of *owner* for *mint* under *token_program*."""
    seeds = [bytes(owner), bytes(token_program), bytes(mint)]
    return Pubkey.find_program_address(seeds, ASSOCIATED_TOKEN_PROGRAM)[0]


def event_authority(program: Pubkey) -> Pubkey:
    """The address that signs an Anchor program's events (``emit_cpi!``)."""
    return find_pda([b"__event_authority"], program)[0]


def anchor_idl_address(program: Pubkey) -> Pubkey:
    """Where Anchor keeps a program's IDL: with seed "anchor:idl" from the program's empty-seed address."""
    return Pubkey.create_with_seed(find_pda([], program)[0], "anchor:idl", program)
