// Rendered by idl2mcp from spec.py; edit the source. [7ccd724133243394]
//! Token accounts and mints: their fields and extensions.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use anchor_lang::prelude::*;

const TOKEN_ACCOUNT_SIZE: usize = 165;

const MINT_SIZE: usize = 82;

const MULTISIG_SIZE: usize = 355;

const EXTENSIONS_AT: usize = 166;

/// The bytes at `offset`.
fn at<const N: usize>(data: &[u8], offset: usize) -> Option<&[u8; N]> {
    data.get(offset..)?.first_chunk()
}

/// Token-2022 stores the kind of an account with extensions behind byte 165: 1 for a mint, 2 for
/// a token account. A multisig has no kind: there it holds a key that anyone may choose.
fn is_kind(data: &[u8], size: usize, kind: u8) -> bool {
    data.len() == size
        || (data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))
}

/// The program at this address owns the account.
pub fn is_owned(account: &AccountInfo, program: &Pubkey) -> bool {
    account.owner == program
}

/// The number of tokens in a token account.
pub fn token_amount(account: &AccountInfo) -> Result<u64> {
    Ok(u64::from_le_bytes(token_bytes(account, 64)?))
}

/// The bytes at `offset` of a token account or a mint.
fn token_bytes<const N: usize>(account: &AccountInfo, offset: usize) -> Result<[u8; N]> {
    at(&account.try_borrow_data()?, offset)
        .copied()
        .ok_or_else(|| anchor_lang::error::ErrorCode::AccountDidNotDeserialize.into())
}

/// The mint of the tokens in a token account.
pub fn token_mint(account: &AccountInfo) -> Result<Pubkey> {
    Ok(Pubkey::new_from_array(token_bytes(account, 0)?))
}

/// The wallet whose tokens a token account holds.
pub fn token_owner(account: &AccountInfo) -> Result<Pubkey> {
    Ok(Pubkey::new_from_array(token_bytes(account, 32)?))
}

/// Who else may move the tokens in a token account.
pub fn token_delegate(account: &AccountInfo) -> Result<Option<Pubkey>> {
    if token_bytes(account, 72)? != [1, 0, 0, 0] {
        return Ok(None);
    }
    Ok(Some(Pubkey::new_from_array(token_bytes(account, 76)?)))
}

/// The number of tokens that the delegate of a token account may move.
pub fn token_delegated_amount(account: &AccountInfo) -> Result<u64> {
    Ok(u64::from_le_bytes(token_bytes(account, 121)?))
}

/// The tokens in a token account cannot be moved.
pub fn token_is_frozen(account: &AccountInfo) -> Result<bool> {
    Ok(token_bytes(account, 108)? == [2])
}

/// The decimals of a mint.
pub fn mint_decimals(account: &AccountInfo) -> Result<u8> {
    let [decimals] = token_bytes(account, 44)?;
    Ok(decimals)
}

/// The number of tokens of a mint.
pub fn mint_supply(account: &AccountInfo) -> Result<u64> {
    Ok(u64::from_le_bytes(token_bytes(account, 36)?))
}

/// The account is an initialized token account of this token program.
pub fn is_token(account: &AccountInfo, program: &Pubkey) -> Result<bool> {
    let data = account.try_borrow_data()?;
    let is_usable = data.get(108).is_some_and(|state| *state != 0);
    Ok(is_owned(account, program) && is_kind(&data, TOKEN_ACCOUNT_SIZE, 2) && is_usable)
}

/// The account is an initialized mint of this token program.
pub fn is_mint(account: &AccountInfo, program: &Pubkey) -> Result<bool> {
    let data = account.try_borrow_data()?;
    let is_usable = data.get(45) == Some(&1);
    Ok(is_owned(account, program) && is_kind(&data, MINT_SIZE, 1) && is_usable)
}

/// One extension of Token-2022: the number that says what it is, and its bytes.
pub struct Extension<'a> {
    pub kind: u16,
    data: &'a [u8],
}

impl Extension<'_> {
    /// It has the bytes from `start` to `stop`, and all are zero.
    #[inline(always)]
    pub fn is_zero(&self, start: usize, stop: usize) -> bool {
        self.data
            .get(start..stop)
            .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }
}

/// The extensions of a mint or token account. What cannot be read comes last, with the kind 65,535.
pub struct Extensions<'a> {
    rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// Those in the data of a mint or token account. They are behind the byte that tells its kind.
    #[inline(always)]
    pub fn of(data: &'a [u8]) -> Self {
        Extensions {
            rest: data.get(EXTENSIONS_AT..).unwrap_or_default(),
        }
    }

    #[inline(never)]
    fn read(&mut self) -> Option<Extension<'a>> {
        let rest = core::mem::take(&mut self.rest);
        let Some((kind, after)) = rest.split_first_chunk() else {
            let is_padding = rest.iter().all(|byte| *byte == 0);
            return (!is_padding).then_some(Extension {
                kind: u16::MAX,
                data: &[],
            });
        };
        let kind = u16::from_le_bytes(*kind);
        if kind == 0 {
            return None;
        }
        let Some((length, after)) = after.split_first_chunk() else {
            return Some(Extension {
                kind: u16::MAX,
                data: &[],
            });
        };
        let length = usize::from(u16::from_le_bytes(*length));
        let Some((data, rest)) = after.split_at_checked(length) else {
            self.rest = &[1]; // the next one is what cannot be read
            return Some(Extension { kind, data: &[] });
        };
        self.rest = rest;
        Some(Extension { kind, data })
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Extension<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.read()
    }
}
