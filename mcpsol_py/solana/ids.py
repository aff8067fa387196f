"""Base58 ids that are the same on every cluster, as text: programs, sysvars, mints and other known accounts.

Needs no solders, so the offline half of the library can import it. `addresses` has the same ids as `Pubkey` values.
"""

from __future__ import annotations

# --- programs --------------------------------------------------------------------------------

SYSTEM_PROGRAM = "11111111111111111111111111111111"
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
#: Both token programs: a mint or token account belongs to one of them.
TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
#: Metaplex Token Metadata: names and images of mints.
METADATA_PROGRAM = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"
#: Program Metadata (solana-program/program-metadata): Anchor 1.0 publishes IDLs there.
PROGRAM_METADATA = "ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S"
MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
#: Lighthouse: wallets append its assertions to transactions they sign.
LIGHTHOUSE_PROGRAM = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95"
#: programs/guard: understands the same assertions, for chains without Lighthouse.
GUARD_PROGRAM = "8kt91MkCXZ8wTZ4BNDwesbPfvncNkiEmCTZqfRmaykbE"
COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111"
ADDRESS_LOOKUP_TABLE_PROGRAM = "AddressLookupTab1e1111111111111111111111111"
STAKE_PROGRAM = "Stake11111111111111111111111111111111111111"
#: An account that delegations name, though the program does not read it now.
STAKE_CONFIG = "StakeConfig11111111111111111111111111111111"
VOTE_PROGRAM = "Vote111111111111111111111111111111111111111"
CONFIG_PROGRAM = "Config1111111111111111111111111111111111111"
#: Verifies the zero-knowledge proofs of confidential transfers.
ZK_ELGAMAL_PROOF_PROGRAM = "ZkE1Gama1Proof11111111111111111111111111111"
ED25519_PROGRAM = "Ed25519SigVerify111111111111111111111111111"
SECP256K1_PROGRAM = "KeccakSecp256k11111111111111111111111111111"
SECP256R1_PROGRAM = "Secp256r1SigVerify1111111111111111111111111"

# --- loaders ---------------------------------------------------------------------------------

#: Owns the programs that are part of the runtime.
NATIVE_LOADER = "NativeLoader1111111111111111111111111111111"
BPF_LOADER_1 = "BPFLoader1111111111111111111111111111111111"
BPF_LOADER_2 = "BPFLoader2111111111111111111111111111111111"
#: Loader v3: owns nearly every deployed program.
UPGRADEABLE_LOADER = "BPFLoaderUpgradeab1e11111111111111111111111"
LOADER_V4 = "LoaderV411111111111111111111111111111111111"

# --- sysvars ---------------------------------------------------------------------------------

#: Owns the accounts of sysvars.
SYSVAR_OWNER = "Sysvar1111111111111111111111111111111111111"
RENT_SYSVAR = "SysvarRent111111111111111111111111111111111"
CLOCK_SYSVAR = "SysvarC1ock11111111111111111111111111111111"
INSTRUCTIONS_SYSVAR = "Sysvar1nstructions1111111111111111111111111"
RECENT_BLOCKHASHES_SYSVAR = "SysvarRecentB1ockHashes11111111111111111111"
SLOT_HASHES_SYSVAR = "SysvarS1otHashes111111111111111111111111111"
SLOT_HISTORY_SYSVAR = "SysvarS1otHistory11111111111111111111111111"
STAKE_HISTORY_SYSVAR = "SysvarStakeHistory1111111111111111111111111"
EPOCH_SCHEDULE_SYSVAR = "SysvarEpochSchedu1e111111111111111111111111"

# --- mints -----------------------------------------------------------------------------------

#: The mint of wrapped SOL.
NATIVE_MINT = "So11111111111111111111111111111111111111112"
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
USDT = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"
USDG = "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH"
PYUSD = "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo"
CASH = "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH"
DEVNET_USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
DEVNET_USDG = "4F6PM96JJxngmHnZLBh9n58RH4aTVNWvDs2nuwrT5BP7"
DEVNET_PYUSD = "CXk2AMBfi3TwaEL2468s6zP8xq9NxTXjp9gjMgzeUynM"

#: Cluster -> name -> a mint that people know by that name, and its decimals.
KNOWN_MINTS: dict[str, dict[str, tuple[str, int]]] = {
    "mainnet": {
        "usdc": (USDC, 6),
        "usdt": (USDT, 6),
        "usdg": (USDG, 6),
        "pyusd": (PYUSD, 6),
        "cash": (CASH, 6),
        "wsol": (NATIVE_MINT, 9),
    },
    "devnet": {
        "usdc": (DEVNET_USDC, 6),
        "usdg": (DEVNET_USDG, 6),
        "pyusd": (DEVNET_PYUSD, 6),
        "wsol": (NATIVE_MINT, 9),
    },
    "testnet": {"wsol": (NATIVE_MINT, 9)},
    "local": {"wsol": (NATIVE_MINT, 9)},
}

# --- other accounts --------------------------------------------------------------------------

#: The Solana Foundation's authority: it publishes IDLs for programs that cannot be upgraded
#: (the fallback authority of @solana/idl).
FOUNDATION_IDL_AUTHORITY = "fndnu15PLXELbLsTqrfbiweBvsBj2o12RoVfkeCCbX2"
#: A hot wallet of an exchange on mainnet, and devnet's faucet: both always hold lamports.
EXCHANGE_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
DEVNET_FAUCET = "9B5XszUGdMaxCZ7uSQhPzdks5ZQSmWxrmzCSvtJ6Ns6g"
#: This project's x402 program, as committed, and the owner of its treasury's token accounts (the
#: bytes be ef, sixteen times: nobody has its key).
X402_PROGRAM = "8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz"
X402_TREASURY_OWNER = "DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn"
#: The audited payment channel program of npm's @x402/svm, and the treasuries of its builds.
CHANNEL_PROGRAM = "CHNLxYvVA28MJP9PrFuDXccuoGXAx7jBacfLEkahyGsX"
CHANNEL_TREASURY = "Cs2zdfUNonRdRGsiZUQQLdTxzxVvJZmgiX2mpLYKuEqP"
CHANNEL_DEVNET_TREASURY = "4zTeC5mVqWLruDexgU2mV66p9t5vCA9JyiZqdGDUspap"

# --- clusters --------------------------------------------------------------------------------

#: Genesis hashes, which tell clusters apart.
MAINNET_GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
DEVNET_GENESIS = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"
TESTNET_GENESIS = "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"
#: The genesis hash of every embedded LiteSVM chain. No real cluster has it.
EMBEDDED_GENESIS = "LoCaLGenesis1111111111111111111111111111111"

# --- names -----------------------------------------------------------------------------------

#: Program id -> the name that people know the program by, for messages and summaries.
PROGRAM_NAMES: dict[str, str] = {
    SYSTEM_PROGRAM: "System",
    TOKEN_PROGRAM: "SPL Token",
    TOKEN_2022_PROGRAM: "Token-2022",
    ASSOCIATED_TOKEN_PROGRAM: "Associated Token",
    METADATA_PROGRAM: "Token Metadata",
    PROGRAM_METADATA: "Program Metadata",
    COMPUTE_BUDGET: "Compute Budget",
    MEMO_PROGRAM: "Memo",
    STAKE_PROGRAM: "Stake",
    VOTE_PROGRAM: "Vote",
    UPGRADEABLE_LOADER: "BPF Upgradeable Loader",
    ADDRESS_LOOKUP_TABLE_PROGRAM: "Address Lookup Table",
    ED25519_PROGRAM: "Ed25519",
    SECP256K1_PROGRAM: "Secp256k1",
    LIGHTHOUSE_PROGRAM: "Lighthouse",
    GUARD_PROGRAM: "Guard",
}

# --- events ----------------------------------------------------------------------------------

#: The first bytes with which a program calls itself to record an event, as Anchor writes them:
#: sha256("anchor:event")[..8], little-endian.
EVENT_CPI_TAG = bytes.fromhex("e445a52e51cb9a1d")
