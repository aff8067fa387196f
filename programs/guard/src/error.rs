// Rendered by idl2mcp from spec.py; edit the source. [a6dee36199d22041]
//! Errors of the program and of its generated checks.

use {crate::log::log, pinocchio::error::ProgramError};

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
    GuardError {
        InvalidAssertion = 6000, "An assertion is too short, too long, or of a kind that the guard does not know";
        AssertionFailed = 6001, "An account is not as the signer of the transaction demands";
    }
}

errors! {
    /// Errors of the generated checks. Names and codes are Anchor's, which clients know.
    Check {
        InstructionFallbackNotFound = 101, "No instruction has this discriminator";
        InstructionDidNotDeserialize = 102, "Arguments are too short, too long or malformed";
        AccountNotEnoughKeys = 3005, "Too few accounts";
    }
}
