"""Every word of the spec language that programs/counter/spec.py does without, once. It does nothing sensible."""

from mcpsol_py.spec import (
    Account,
    Array,
    AssociatedTokenProgram,
    Clock,
    COption,
    Enum,
    Event,
    Group,
    Instructions,
    Mint,
    Mut,
    Payer,
    ProgramAccount,
    Pubkey,
    Ref,
    RemainingBytes,
    Rent,
    Signer,
    Struct,
    SystemProgram,
    Token2022Program,
    TokenAccount,
    TokenInterface,
    TokenProgram,
    Unchecked,
    Wallet,
    address,
    associated,
    close,
    constant,
    error,
    executable,
    f32,
    f64,
    has_one,
    i8,
    i16,
    i32,
    i64,
    i128,
    i256,
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
    u32,
    u64,
    u128,
    u256,
    variant,
)

MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"


class Point(Struct):
    """Named fields, which others may hold."""

    x: i32
    y: i32


class Shape(Enum, tag=u16):
    """Variants without a payload, with positions, with names; the tag is a u16."""

    Nothing = variant()
    Dot = variant(Point)
    Circle = variant(middle=Point, radius=u32)


class Table(Struct, layout="c"):
    """Laid out as C does, with padding."""

    small: u8
    large: u64


class Config(Account):
    """State of a fixed size, with every kind of number."""

    admin: Pubkey
    bump: u8
    signed: tuple[i8, i16, i32, i64, i128, i256]
    unsigned: tuple[u16, u32, u64, u128, u256]
    real: tuple[f32, f64]
    grid: Array[u8, 16]
    table: Table
    delegate: COption[Pubkey]
    is_on: bool


class Notes(Account, discriminator=b"NOTE"):
    """State of no fixed size, told apart by bytes of its own."""

    author: Pubkey
    lines: list[str]
    shapes: dict[u8, Shape]
    readers: set[Pubkey]
    last: u64 | None


class Pair(Group):
    """Accounts that stand together under one name."""

    base: Ref[TokenAccount, token(mint="coin")]
    quote: Ref[Unchecked, owner(MEMO)]


@program(
    name="every_word",
    address="9JjmmWNDfKXCK62zV6PvseyggQE29NqgoDF1HDWDH4AN",
    version="1.2.0",
    allow_init_if_needed=True,
)
class EveryWord:
    """Every word once."""

    MAX_LINES = constant(u16, 64, "How many lines one author may have")

    NotTheAdmin = error("Only the admin may do this")
    WrongMemo = error("The memo program is another one", code=7000)

    class Drawn(Event, discriminator=b"\x01\x02\x03\x04\x05\x06\x07\x08"):
        """A shape was drawn."""

        shape: Shape
        at: Point

    @instruction(discriminator=b"\x00setup\x00\x00")
    def setup(
        self,
        config: Mut[
            Config, init(payer="admin", if_needed=True), seeds(b"config", bump="bump")
        ],
        coin: Mut[
            Mint,
            init(payer="admin"),
            mint(authority="config", decimals=6),
            seeds(b"coin"),
        ],
        purse: Mut[
            TokenAccount,
            init(payer="admin"),
            associated(mint="coin", authority="admin"),
        ],
        admin: Payer,
        fee_to: Mut[Wallet, ...],
        memo: Ref[ProgramAccount, address(MEMO, error=WrongMemo), executable],
        token_program: TokenProgram,
        associated_token_program: AssociatedTokenProgram,
        system_program: SystemProgram,
        rent: Rent,
        clock: Clock,
        instructions: Instructions,
    ) -> None:
        """Make what there is to make.

        When to use:
            Once.
        """

    @instruction(returns=Point)
    def draw(
        self,
        config: Ref[
            Config,
            has_one("admin", error=NotTheAdmin),
            seeds(b"config", bump="config_bump"),
        ],
        admin: Ref[Signer, otherwise(signer=NotTheAdmin)],
        notes: Mut[
            Notes, has_one("author", account="admin"), realloc(4096, payer="payer")
        ],
        helper: Mut[Unchecked, signer] | None,
        pair: Pair,
        coin: Mint,
        payer: Payer,
        any_token_program: TokenInterface,
        new_token_program: Token2022Program,
        system_program: SystemProgram,
        *voters: Signer,
        config_bump: u8,
        shape: Shape,
        weights: list[f64],
        memo: bytes,
        rest: RemainingBytes,
    ) -> None:
        """Draw a shape.

        Args:
            config_bump: The bump of config's address; clients fill it in.
            weights (grams): How heavy each part is.
            helper: Who helps, if anybody.
        """

    @instruction
    def forget(
        self, notes: Mut[Notes, has_one("author"), close("author")], author: Payer
    ) -> None:
        """Throw an author's notes away."""
