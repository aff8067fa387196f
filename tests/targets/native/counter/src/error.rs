// Rendered by idl2mcp from spec.py; edit the source. [dac404e9a5d20cf1]
//! Errors of the program and of its generated checks.

use {crate::log::log, solana_program::program_error::ProgramError};

/// Declares errors: name = code, message. Each logs its name, code and message when it becomes a
/// `ProgramError`.
macro_rules! errors {
    ($(#[$attribute:meta])* $kind:ident { $($name:ident = $code:literal, $message:literal;)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[repr(u32)]
        pub enum $kind {
            $($name = $code,)*
        }

        impl $kind {
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => concat!(stringify!($name), " (", $code, "): ", $message),)*
                }
            }

            #[cold]
            #[inline(never)]
            fn report(self) {
                log(self.text());
            }
        }

        impl From<$kind> for ProgramError {
            #[inline(always)]
            fn from(error: $kind) -> Self {
                error.report();
                Self::Custom(error as u32)
            }
        }
    };
}

errors! {
    /// The program's own errors.
    CounterError {
        Overflow = 6000, "The count would go over 18446744073709551615";
        Underflow = 6001, "The count would go below zero";
        NotZero = 6002, "Only a counter that stands at zero can be closed";
    }
}

errors! {
    /// Errors of the generated checks. Names and codes are Anchor's, which clients know.
    Check {
        InstructionFallbackNotFound = 101, "No instruction has this discriminator";
        InstructionDidNotDeserialize = 102, "Arguments are too short, too long or malformed";
        ConstraintMut = 2000, "Account is not writable";
        ConstraintHasOne = 2001, "Account does not match a field of the state";
        ConstraintSeeds = 2006, "Account address does not match its seeds";
        ConstraintClose = 2011, "Account cannot be closed into itself";
        AccountDiscriminatorAlreadySet = 3000, "Account to create already exists";
        AccountDiscriminatorNotFound = 3001, "Account is too short for a discriminator";
        AccountDiscriminatorMismatch = 3002, "Account is of another type";
        AccountDidNotDeserialize = 3003, "Account data is too short or malformed";
        AccountNotEnoughKeys = 3005, "Too few accounts";
        AccountOwnedByWrongProgram = 3007, "Account is owned by another program";
        InvalidProgramId = 3008, "Account is not the expected program";
        AccountNotSigner = 3010, "Account did not sign";
        AccountNotInitialized = 3012, "Account does not exist";
    }
}
