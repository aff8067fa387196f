// Rendered by idl2mcp from spec.py; edit the source. [307e6158e64cb003]
//! Errors: the program's own, and those of the generated checks. Each is logged with its name
//! where it becomes a ProgramError.

use crate::log::log;
use solana_program::program_error::ProgramError;

/// The program's own errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum VaultError {
    /// The amount must be more than zero
    ZeroAmount = 6000,
    /// The vault holds fewer tokens than that
    NotEnoughTokens = 6001,
    /// Only the vault's authority may do this
    WrongAuthority = 6002,
    /// The vault has counted more than 18446744073709551615 base units
    Overflow = 6003,
}

impl VaultError {
    #[cold]
    #[inline(never)]
    fn tell(self) {
        log(self.text());
    }

    /// What the log says.
    pub const fn text(self) -> &'static str {
        match self {
            Self::ZeroAmount => "ZeroAmount (6000): The amount must be more than zero",
            Self::NotEnoughTokens => {
                "NotEnoughTokens (6001): The vault holds fewer tokens than that"
            }
            Self::WrongAuthority => "WrongAuthority (6002): Only the vault's authority may do this",
            Self::Overflow => {
                "Overflow (6003): The vault has counted more than 18446744073709551615 base units"
            }
        }
    }
}

impl From<VaultError> for ProgramError {
    /// Only what is logged is looked up; the number is known where it is returned.
    #[inline(always)]
    fn from(error: VaultError) -> Self {
        error.tell();
        Self::Custom(error as u32)
    }
}

/// What the generated code refuses. Numbers and names are those by which Anchor programs say the
/// same, so that clients know them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Check {
    /// No instruction has this discriminator
    InstructionFallbackNotFound = 101,
    /// The instruction's arguments are too short, too long or not of their types
    InstructionDidNotDeserialize = 102,
    /// The return value is larger than 1,024 bytes
    InstructionDidNotSerialize = 103,
    /// An account that is written was not marked as writable
    ConstraintMut = 2000,
    /// A field of an account's state names another account than the one given
    ConstraintHasOne = 2001,
    /// An account is owned by another program than it must be
    ConstraintOwner = 2004,
    /// An account stands at another address than its seeds give
    ConstraintSeeds = 2006,
    /// An account is not the associated token account of this mint and wallet
    ConstraintAssociated = 2009,
    /// An account cannot be closed into itself
    ConstraintClose = 2011,
    /// An account is not the one that it must be
    ConstraintAddress = 2012,
    /// A token account is of another mint
    ConstraintTokenMint = 2014,
    /// A token account has another authority
    ConstraintTokenOwner = 2015,
    /// A mint has another mint authority
    ConstraintMintMintAuthority = 2016,
    /// A mint has other decimals
    ConstraintMintDecimals = 2018,
    /// Two accounts that are both written are the same one
    ConstraintDuplicateMutableAccount = 2040,
    /// The account to create exists already
    AccountDiscriminatorAlreadySet = 3000,
    /// An account is too short to hold a discriminator
    AccountDiscriminatorNotFound = 3001,
    /// An account holds another type than it must
    AccountDiscriminatorMismatch = 3002,
    /// An account's data is too short or not of its type
    AccountDidNotDeserialize = 3003,
    /// Too few accounts were given
    AccountNotEnoughKeys = 3005,
    /// An account is owned by another program
    AccountOwnedByWrongProgram = 3007,
    /// An account is not the program that it must be
    InvalidProgramId = 3008,
    /// An account that must be a program is none
    InvalidProgramExecutable = 3009,
    /// An account that must sign did not
    AccountNotSigner = 3010,
    /// An account is not owned by the system program
    AccountNotSystemOwned = 3011,
    /// An account does not exist yet
    AccountNotInitialized = 3012,
    /// An account is not the sysvar that it must be
    AccountSysvarMismatch = 3015,
    /// An account may grow by 10,240 bytes in one instruction
    AccountReallocExceedsLimit = 3016,
    /// This instruction's handler is not written yet
    InstructionNotWritten = 5999,
}

impl Check {
    #[cold]
    #[inline(never)]
    fn tell(self) {
        log(self.text());
    }

    /// What the log says.
    pub const fn text(self) -> &'static str {
        match self {
            Self::InstructionFallbackNotFound => "InstructionFallbackNotFound (101): No instruction has this discriminator",
            Self::InstructionDidNotDeserialize => "InstructionDidNotDeserialize (102): The instruction's arguments are too short, too long or not of their types",
            Self::InstructionDidNotSerialize => "InstructionDidNotSerialize (103): The return value is larger than 1,024 bytes",
            Self::ConstraintMut => "ConstraintMut (2000): An account that is written was not marked as writable",
            Self::ConstraintHasOne => "ConstraintHasOne (2001): A field of an account's state names another account than the one given",
            Self::ConstraintOwner => "ConstraintOwner (2004): An account is owned by another program than it must be",
            Self::ConstraintSeeds => "ConstraintSeeds (2006): An account stands at another address than its seeds give",
            Self::ConstraintAssociated => "ConstraintAssociated (2009): An account is not the associated token account of this mint and wallet",
            Self::ConstraintClose => "ConstraintClose (2011): An account cannot be closed into itself",
            Self::ConstraintAddress => "ConstraintAddress (2012): An account is not the one that it must be",
            Self::ConstraintTokenMint => "ConstraintTokenMint (2014): A token account is of another mint",
            Self::ConstraintTokenOwner => "ConstraintTokenOwner (2015): A token account has another authority",
            Self::ConstraintMintMintAuthority => "ConstraintMintMintAuthority (2016): A mint has another mint authority",
            Self::ConstraintMintDecimals => "ConstraintMintDecimals (2018): A mint has other decimals",
            Self::ConstraintDuplicateMutableAccount => "ConstraintDuplicateMutableAccount (2040): Two accounts that are both written are the same one",
            Self::AccountDiscriminatorAlreadySet => "AccountDiscriminatorAlreadySet (3000): The account to create exists already",
            Self::AccountDiscriminatorNotFound => "AccountDiscriminatorNotFound (3001): An account is too short to hold a discriminator",
            Self::AccountDiscriminatorMismatch => "AccountDiscriminatorMismatch (3002): An account holds another type than it must",
            Self::AccountDidNotDeserialize => "AccountDidNotDeserialize (3003): An account's data is too short or not of its type",
            Self::AccountNotEnoughKeys => "AccountNotEnoughKeys (3005): Too few accounts were given",
            Self::AccountOwnedByWrongProgram => "AccountOwnedByWrongProgram (3007): An account is owned by another program",
            Self::InvalidProgramId => "InvalidProgramId (3008): An account is not the program that it must be",
            Self::InvalidProgramExecutable => "InvalidProgramExecutable (3009): An account that must be a program is none",
            Self::AccountNotSigner => "AccountNotSigner (3010): An account that must sign did not",
            Self::AccountNotSystemOwned => "AccountNotSystemOwned (3011): An account is not owned by the system program",
            Self::AccountNotInitialized => "AccountNotInitialized (3012): An account does not exist yet",
            Self::AccountSysvarMismatch => "AccountSysvarMismatch (3015): An account is not the sysvar that it must be",
            Self::AccountReallocExceedsLimit => "AccountReallocExceedsLimit (3016): An account may grow by 10,240 bytes in one instruction",
            Self::InstructionNotWritten => "InstructionNotWritten (5999): This instruction's handler is not written yet",
        }
    }
}

impl From<Check> for ProgramError {
    /// Only what is logged is looked up; the number is known where it is returned.
    #[inline(always)]
    fn from(error: Check) -> Self {
        error.tell();
        Self::Custom(error as u32)
    }
}
