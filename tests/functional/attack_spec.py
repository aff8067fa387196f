"""A spec with every constraint that there is, whose handlers do nothing: what `idl2mcp attack` makes of each, and
whether the generated checks alone stand it."""

from __future__ import annotations

from mcpsol_py.spec import (
    Account,
    Array,
    AssociatedTokenProgram,
    Clock,
    Enum,
    Group,
    Instructions,
    Mint,
    Mut,
    Payer,
    ProgramAccount,
    Pubkey,
    Ref,
    Rent,
    Signer,
    SystemProgram,
    TokenAccount,
    TokenInterface,
    TokenProgram,
    Unchecked,
    Wallet,
    address,
    associated,
    close,
    error,
    executable,
    has_one,
    i64,
    init,
    instruction,
    mint,
    otherwise,
    owner,
    program,
    realloc,
    seeds,
    signer,
    token,
    u8,
    u16,
    u64,
    variant,
)

TREASURY = "J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK"


class Side(Enum):
    """A side."""

    Bid = variant()
    Ask = variant(u64)


class Pool(Account):
    """A pool with a stored bump."""

    authority: Pubkey
    index: u16
    bump: u8


class Note(Account):
    """Another type of the same size as a pool."""

    authority: Pubkey
    index: u16
    bump: u8


class Pair(Group):
    """Two accounts under one name."""

    pool: Mut[
        Pool,
        has_one("authority", account="admin"),
        seeds(b"pool", "pool.index", bump="bump"),
    ]
    admin: Signer


@program(name="everything", address="BaseUHcQnk8gZqfYcMZuDEH9AVvkuBRDSDBHSykKmPrN")
class Everything:
    """Every constraint once."""

    NotYours = error("That is somebody else's")
    NotSigned = error("A signature is missing")
    WrongPlace = error("That stands elsewhere")
    WrongOwner = error("That is of another program")

    @instruction
    def make(
        self,
        pool: Mut[
            Pool,
            init(payer="payer"),
            seeds(b"pool", "index", bump="bump", error=WrongPlace),
        ],
        note: Mut[Note, init(payer="payer", space=100)],
        coin: Mut[
            Mint,
            init(payer="payer"),
            seeds(b"coin", "pool"),
            mint(authority="pool", decimals=9),
        ],
        purse: Mut[TokenAccount, init(payer="payer"), associated("coin", "payer")],
        payer: Payer,
        token_program: TokenProgram,
        associated_token_program: AssociatedTokenProgram,
        system_program: SystemProgram,
        index: u16,
    ) -> None:
        """Make one of each."""

    @instruction
    def checks(
        self,
        pair: Pair,
        wallet: Ref[Wallet, signer],
        owned: Ref[Unchecked, owner("some_program", error=WrongOwner)],
        fixed: Ref[Unchecked, address(TREASURY, error=NotYours)],
        some_program: Ref[Unchecked, executable],
        this: Ref[
            ProgramAccount, address("BaseUHcQnk8gZqfYcMZuDEH9AVvkuBRDSDBHSykKmPrN")
        ],
        rent: Rent,
        clock: Clock,
        instructions: Instructions,
        maybe: Mut[Pool, has_one("authority", account="wallet", error=NotYours)] | None,
        signed: Ref[Signer, otherwise(signer=NotSigned)],
        flag: bool,
        side: Side,
        when: i64 | None,
        names: list[Array[u8, 4]],
        text: str,
    ) -> None:
        """Check one of each."""

    @instruction
    def coins(
        self,
        coin: Ref[Mint, mint(authority="pool", decimals=9, program="token_program")],
        purse: Mut[TokenAccount, associated("coin", "owner", program="token_program")],
        other: Mut[
            TokenAccount, token(mint="coin", authority="pool", program="token_program")
        ],
        owner: Signer,
        pool: Ref[Pool, seeds(b"pool", "pool.index", bump="bump")],
        token_program: Ref[TokenInterface, otherwise(address=WrongPlace)],
    ) -> None:
        """Tokens of both programs."""

    @instruction
    def grow(
        self,
        pool: Mut[Pool, has_one("authority"), realloc(300, payer="authority")],
        authority: Payer,
        system_program: SystemProgram,
    ) -> None:
        """Resize a pool."""

    @instruction
    def end(
        self,
        note: Mut[Note, has_one("authority", error=NotYours), close("authority")],
        authority: Mut[Unchecked, ...],
        *voters: Signer,
    ) -> None:
        """Close a note; anyone may."""

    @instruction
    def pools(self, authority: Signer, *others: Mut[Pool, ...]) -> None:
        """Check pools after the named accounts."""

    @instruction
    def purses(self, authority: Signer, *purses: Mut[TokenAccount, ...]) -> None:
        """Check token accounts after the named accounts."""

    @instruction
    def prices(self, authority: Signer, *coins: Mint) -> None:
        """Check mints after the named accounts."""

    @instruction
    def payers(self, authority: Signer, *payers: Payer) -> None:
        """Check payers after the named accounts."""
