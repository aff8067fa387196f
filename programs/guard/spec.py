"""A guard at the end of a transaction: it fails the transaction unless accounts are as the signer demands."""

from mcpsol_py.spec import (
    Pubkey,
    RemainingBytes,
    Unchecked,
    constant,
    error,
    instruction,
    program,
    u8,
)


@program(
    name="guard",
    address="8kt91MkCXZ8wTZ4BNDwesbPfvncNkiEmCTZqfRmaykbE",
    version="1.0.0",
)
class Guard:
    """Assertions about accounts. An instruction of this program succeeds or fails, and changes nothing.

    It understands the assertions of the Lighthouse program that mcpsol-py's bridge appends to what it signs, in
    the same bytes, for chains on which Lighthouse is not deployed.
    """

    SYSTEM = constant(Pubkey, "11111111111111111111111111111111", "Owner number 0.")
    TOKEN = constant(
        Pubkey, "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "Owner number 1."
    )
    TOKEN_2022 = constant(
        Pubkey, "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "Owner number 2."
    )

    InvalidAssertion = error(
        "An assertion is too short, too long, or of a kind that the guard does not know"
    )
    AssertionFailed = error(
        "An account is not as the signer of the transaction demands"
    )

    @instruction(discriminator=b"\x06")
    def assert_account_info_multi(
        self, target_account: Unchecked, log_level: u8, assertions: RemainingBytes
    ) -> None:
        """Assert the least lamports of an account, the length of its data, and its owner.

        Args:
            target_account: The account.
            log_level: Not used.
            assertions: Their number, and each: 0 and lamports (u64), or 1 and a length (u64), then 0 (equal), 4 (at
                least) or 5 (at most); or 3, owner (u8), 0 (equal).
        """

    @instruction(discriminator=b"\x03")
    def assert_account_data_multi(
        self, target_account: Unchecked, log_level: u8, assertions: RemainingBytes
    ) -> None:
        """Assert numbers and addresses in the data of an account.

        Args:
            target_account: The account.
            log_level: Not used.
            assertions: Their number, and each: an offset (LEB128), then 5 and a u32, 7 and a u64, or 12 and an
                address, then 0 (equal), 4 (at least) or 5 (at most); an address is equal.
        """
