"""Well-known programs: the brands and words by which people call them.

An IDL often has a name that nobody uses ("lb_clmm" for Meteora's DLMM). A row counts for the program at one of its
addresses, and for an IDL of its name that has no address: a stranger's program cannot take a brand by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mcpsol_py.names import letters

__all__ = [
    "SHORT_BRANDS",
    "KnownProgram",
    "known_names",
    "known_program",
    "namesake_of",
]


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A well-known program. `names`: names of its IDLs. `called`: brands and other names. `about`: a few words on it."""

    addresses: tuple[str, ...]
    names: tuple[str, ...]
    called: tuple[str, ...]
    about: str


#: Short forms of brands, as people type them.
SHORT_BRANDS = {"jup": "jupiter", "mpl": "metaplex", "ray": "raydium"}

#: addresses | names of IDLs | what people call it | what it is
_ROWS = """
11111111111111111111111111111111 | system, spl_system | system program | sol lamports native transfer account nonce
TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA | token, spl_token | spl token, token program | fungible token coin mint balance
TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb | token-2022, spl_token_2022 | token 2022, token extensions, token22 | token extensions confidential transfer fee hook
ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL | splAssociatedTokenAccount | associated token account, ata | token account of a wallet
ComputeBudget111111111111111111111111111111 | computeBudget | compute budget | priority fee compute unit limit
Stake11111111111111111111111111111111111111 | stake | stake program, native staking | validator delegation stake account
AddressLookupTab1e1111111111111111111111111 | addressLookupTable | address lookup table, alt, lut | lookup table of addresses for transactions
MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH | memo, spl_memo | memo program | note text message
namesLPneVptA9Z5rqUDD9tMTWEJwofgaYwp8cawRkX | spl_name_service | name service, sns, bonfida | domain name .sol human readable
SPoo1Ku8WFXoNDMHPsrGSTSG1Y47rzgn41SLUNakuHy | spl_stake_pool | stake pool, spl stake pool | liquid staking pool validators
GovER5Lthms3bLBqWub97yVrMmEogzX7xNjdXpPPCVZw | splGovernance, spl_governance | realms, spl governance | dao governance voting realm
SwaPpA9LAaLfeLi3a68M4DjnLqgtticKg6CnyNwgAC8 | spl_token_swap | spl token swap | amm swap pool
ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S | programMetadata | program metadata | idl security metadata of a program
22zoJMtdu4tQc2PzL74ZUT7FrwgB1Udec8DdW4yw4BdG | solanaAttestationService | solana attestation service, sas | attestation credential schema identity kyc
metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s | mplTokenMetadata, token_metadata, mpl_token_metadata | metaplex token metadata, metaplex, nft metadata | nft metadata edition collection creator
CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d | mpl_core, mpl_core_program, mpl_core_shape | metaplex core, mpl core | nft asset
auth9SigNpDKz4sJJ1DfCTuZrZNSAgh9sFD3rboVmgg | mpl_token_auth_rules | metaplex auth rules, token auth rules | programmable nft rule set royalties
CndyV3LdqHUfDLmE5naZjVN8rBZz4tqhdefbAnjHG3JR | candy_machine_core | candy machine v3, metaplex candy machine, candy machine | nft mint drop collection
cndy3Z4yapfJBmL3ShUp5exZKqR3z33thTzeNMm2gRZ cndyAnrLdpjq1Ssp1z8xxDsB8dxe7u4HL5Nxi2K5WXZ | nft_candy_machine, nft_candy_machine_v2 | candy machine, metaplex candy machine v1 | nft mint drop
JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4 | jupiter | jupiter aggregator, jupiter swap, jupiter v6, jup | swap aggregator best route price
JUP4Fb2cqiRUcaTHdrPC8h2gNsA2ETXiPDD33WcGuJB | jupiter, jupiter_v4 | jupiter v4, jupiter aggregator | swap aggregator
PERPHjGBqRHArX4DySjwM6UJHiR3sWAatqfdBS2qQJu | perpetuals | jupiter perps, jupiter perpetuals, jlp, jup perps, jupiter perpetual exchange | leverage long short position pool
jupoNjAxXgZ4rjzxzPMP4oxduvQsQtZzyknqvzYNrNu | limitOrder, limit_order | jupiter limit order, jupiter limit orders | limit order price
j1o2qRpjcyUwEvwtcfhEQefh773ZgjxcVRry7LDqg5X | limitOrder2, limit_order_2 | jupiter limit order, jupiter limit orders, jupiter limit order v2, jupiter trigger | limit order price
DCA265Vj8a9CEuX1eb1LWRnDT7uK6q1xMipnNyatn23M | dca | jupiter dca, jupiter recurring, dollar cost averaging | recurring buys dollar cost average
jup3YeL8QhtSx1e253b2FDvsMNC87fDrgQZivbrndc9 | lending | jupiter lend, jupiter earn, jupiter lend earn, fluid lending | lend earn interest deposit
jupr81YtYssSyPt8jbnGuiWon5f6x9TcDEFxYe3Bdzi | vaults | jupiter borrow, jupiter lend borrow, jupiter lend vaults, jupiter multiply, fluid vaults | borrow collateral debt vault position
JUPUSDecMzAVgztLe6eGhwUBj1Pn3j9WAXwmtHmfbRr | jup_stable | jupusd, jupiter usd, jupiter stablecoin, jup usd, jupiter stable | stablecoin mint redeem dollar
GovaE4iu227srtG2s3tZzB4RmWBzw8sTwrCLZz7kN7rY | govern | jupiter governance, jup dao, jupiter dao, tribeca govern, jupiter vote | dao governance proposal
voTpe3tHQ7AjQHMapgSue2HJFAh2cGsdokqN3XqmVSj | locked_voter | jupiter vote, jup staking, jupiter dao, jup lock, tribeca locked voter, jupiter voter, locked jup | stake lock jup voting power escrow
DiS3nNjFVMieMgmiQFm6wgJL7nevk4NrhXKLbtEH1Z2R | merkle_distributor | jupiter airdrop, merkle distributor, jup distributor, jito distributor | airdrop claim merkle proof vesting
61DFfeTKM7trxYcPQCM78bJ794ddZprZpAwAnLiwTpYH RderEngine111111111111111111111111111111112 | orderEngine, order_engine | jupiterz, jupiter rfq, jupiter order engine | rfq market maker fill quote
inv1tEtSwRMtM44tbvJGNiTxMvDfPVnX9StyqXfDfks | inviteEscrow | jupiter invite, jupiter send, magic send | send money by link invite escrow
JSW99DKmxNyREQM14SQLDykeBvEUG63TeohrvmofEiw | jupiter_smart_wallet | ape pro, apepro, jupiter ape, jupiter smart wallet | smart wallet flash swap
DoVEsk76QybCEHQGzkvYPWLQu9gzNoZZZt3TPiL597e | doves | doves oracle, jupiter perps oracle, doves | oracle price feed
MarBmsSgKXdrN1egZf5sqe1TMai9K1rChYNDJgjq7aD | marinade_finance | marinade, marinade finance, msol | liquid staking sol msol
KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD | kamino_lending | kamino lend, klend, kamino borrow, kamino lending, kamino | lend borrow market reserve obligation
KvauGMspG5k6rtzrqqn7WNn3oZdyKqLKwK2XWQ8FLjd | kamino_vault | kamino earn, kamino earn vault, kamino vault, kvault, kamino lend vault | earn vault yield shares
FarmsPZpWu9i7Kky8tPN37rs2TpmMrAZrC7S7vJa91Hr | farms | kamino farms, kamino farm, kfarms, kamino staking | farm stake rewards
HFn8GnPADiny6XqUoWE8uRPPxb29ikn4yTuPa9MF2fWJ | scope | scope oracle, kamino scope, scope | oracle price aggregator
LiMoM9rMhrdYrfzUCxQppvxCSG1FcrUK9G8uLq4A1GF | limo | kamino limit order, kamino swap, limo | limit order intent fill
6LtLpnUFNByNXLyCoK9wA2MykKAmQNZKBdY8s47dehDc | yvaults | kamino liquidity, kamino strategy, kamino yvault, kamino concentrated liquidity vault | automated liquidity strategy vault
whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc | whirlpool | orca, orca whirlpool, orca whirlpools, whirlpools | concentrated liquidity pool amm swap
CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK devi51mZmdwUJGU9hjN27vEz64Gps7uUefqxg27EAtH | amm_v3 | raydium clmm, raydium concentrated liquidity, raydium | concentrated liquidity pool amm swap
CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C | raydium_cp_swap | raydium cpmm, raydium cp swap, raydium constant product, raydium | constant product pool amm swap
675kPX9MHTjS2zt1qfr1NYHuzeLXfQM9H24wFSUt1Mp8 | raydiumAmm, raydium_amm | raydium amm, raydium amm v4, raydium v4, raydium legacy pool, raydium | amm swap pool openbook
5quBtoiQqxF9Jv6KYKctB59NT3gtJD2Y65kdnB1Uev3h | raydium_stable | raydium stable swap, raydium stable, raydium | stable swap pool
LanMV9sAd7wArD4vJFi2qDdfnVhFxYSUg6eADduJ3uj | raydium_launchpad | raydium launchlab, raydium launchpad, letsbonk, bonk fun, launchlab, raydium | token launch bonding curve
HpNfyc2Saw7RKkQd8nEL4khUcuPhQ7WwY1B2qjx8jxFq | amm_v3 | pancakeswap, pancake swap, pancakeswap v3 | concentrated liquidity pool amm swap
REALQqNEomY6cQGZJUGwywTBD2UmDT32rZcNnfxQ5N2 | byreal_clmm | byreal, byreal clmm, bybit dex | concentrated liquidity pool amm swap
LBUZKhRxPF3XUpBCjp4YzTKgLccjZhTSDM9YuVaPwxo | lb_clmm, meteora_dlmm | meteora dlmm, dlmm, meteora liquidity book, meteora | dynamic liquidity bins pool amm swap
cpamdpZCGKUy5JxQXB4dcpGPiikHawvSWAd6mEn1sGG | cp_amm | meteora damm v2, damm v2, meteora cp amm, meteora damm, meteora | constant product pool amm swap
Eo7WjKq67rjJQSZxS6z3YkapzY3eMj6Xy8X5EQVn5UaB | amm | meteora damm v1, damm v1, meteora dynamic amm, meteora dynamic pool, meteora pools | dynamic amm pool swap vault
dbcij3LWUppWqq96dh6gJWwBifmcGfLSB5D4DuSMaqN | dynamicBondingCurve, dynamic_bonding_curve | meteora dbc, meteora dynamic bonding curve, dbc, meteora bonding curve, meteora launch, meteora | token launch bonding curve
6EF8rrecthR5Dkzon8Nwu78hRvfCKubJ14M5uBEwF6P | pump, pump_fun, pumpFun | pump.fun, pumpfun, pump fun | meme coin token launch bonding curve
pAMMBay6oceH9fJKBRHGP5D4bD4sWpmSwMn52FMfXEA | pump_amm | pumpswap, pump swap, pump amm, pump.fun amm | amm swap pool meme coin
| bonkswap | bonkswap, bonk swap | amm swap pool
goonERTdGsjnkZqWuVjs73BZ3Pb9qoCUdBUL17BnS5j | goonfi | goonfi, goon fi | proprietary amm swap
2wT8Yq49kHgDzXuPxZSaeLaH1qbmGXtEyPy64bL7aD3c | lifinity_amm_v2 | lifinity, lifinity v2 | proprietary amm swap
swapNyd8XiQwJ6ianp9snpu4brUqFxadzvHebnAXjJZ | stable_swap | stabble stable swap, stabble, stable swap | stable pool amm swap
swapFpHZwjELNnjvThjajtiVmkz3yPQEHjLtka2fwHW | weighted_swap | stabble weighted swap, stabble, weighted swap | weighted pool amm swap
PhoeNiXZ8ByJGLkxNfZRnkUfjvmuYqLR89jjFHGqdXY | phoenix_v1, phoenix | phoenix, phoenix dex, phoenix order book, ellipsis | spot order book clob limit order
EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih phDEVv4w6BcfkLrLNeXr8HhhgQxnxziVGXpGPcaadMf | eternal | phoenix perps, phoenix perpetuals, phoenix eternal, eternal | perpetual futures order book leverage
EMBERpYNE6ehWmXymZZS2skiFmCa9V5dp14e1iduM5qy | ember | phoenix ember, ember | wrap usdc deposit collateral token
DF1ow4tspfHX9JwWJsAb9epbkA8hmpSEAtxXy1V27QBH | swap_orchestrator | dflow, dflow aggregator, dflow swap | swap aggregator
6m2CDdhRgxpH4WjvdzxAYbGxwdGUz5MziiL5jek2kBma | dex_solana, dexSolana | okx, okx dex, okx swap, okx aggregator, okx dex router | swap aggregator
proVF4pMXVaYqmy4NjniPh4pqKNfMmsihgd4wdkCX3u | onchain labs dex router 2, OnChain Labs: Dex Router 2 | okx dex router v2, okx dex, okx, onchain labs dex router | swap aggregator router
tuna4uSQZncNeeiAMKbstuxA9CUkHH6HmC64wgmnogD | tuna | defituna, defi tuna, tuna | leveraged liquidity position lending
dRiftyHA39MWEi3m9aunc5MzRF1JYuBsbn6VPcn33UH | drift | drift, drift protocol, drift v2, drift perps | perpetual futures spot margin orders
vAuLTsyrvSfZRuRB3XgvkPwNGgYSs9YRYymVebLKoxR | drift_vaults | drift vaults, drift vault | managed trading vault depositor shares
MFv2hWf31Z9kbCa1snEPYctwafyhdvnV7FZnsebVacA | marginfi | marginfi, mrgn, project 0, p0 | lend borrow bank account
1oopBoJG58DgkUVKkEzKgyG9dvRmpgeEm1AVjoHkF78 | loopscale | loopscale, bridgesplit | order book lending fixed rate loan
offerbkFMvVfpQhL8ZQ5iromnjct5rz3r52B9ewu3ie | offerbook | offerbook, offer book | peer to peer lending nft loan offer
ExponentnaRg3CQbW6dqQNZKXp7gtZ9DGMp1cwC4HAS7 | exponent_core | exponent, exponent finance | yield trading principal token pt yt sy strip
onreuGhHHgVzMWSkj2oQDLDtvvGvoepBPkqyaubFcwe | onreapp | onre, onyc, onre finance | reinsurance yield token offer redemption nav
BUNDDh4P5XviMm1f3gCvnq2qKx6TGosAGnoUK12e7cXU | ntbundle | neutral trade, neutral trade bundle, nt bundle, ntbundle | fund vault bundle deposit strategy
| conditional_vault | metadao conditional vault, metadao, conditional vault | futarchy prediction conditional pass fail token
| futarchy | metadao futarchy, metadao, futarchy | futarchy dao proposal decision market
QMNeHCGYnLVDn1icRAfQZpjPLBNkfGbSKRB83G5d8KB | quarry_mine | quarry, quarry mine, quarry protocol | liquidity mining stake rewards farm
QMMD16kjauP5knBwxNUJRZ1Z5o3deBuFrqVjBVmmqto | quarry_merge_mine | quarry merge mine, quarry | liquidity mining stake rewards farm
QMWoBmAyJLAsA1Lh9ugMTw2gciTihncciphzdNzdZYV | quarry_mint_wrapper | quarry mint wrapper, quarry | mint wrapper minter allowance
QoP6NfrQbaGnccXQrMLUkog2tQZ4C1RFgJcwDnT8Kmz | quarry_operator | quarry operator, quarry | operator roles rewards rate
QRDxhMw1P2NEfiw5mYXG79bwfgHTdasY2xNP76XSea9 | quarry_redeemer | quarry redeemer, quarry | redeem iou tokens
QREGBnEj9Sa5uR91AV8u3FxThgP5ZCvdZUW2bHAkfNc | quarry_registry | quarry registry, quarry | registry list of quarries
SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf | squads_multisig_program, squadsMultisigProgram, squads_v4 | squads, squads multisig, squads v4, squads protocol | multisig safe treasury members threshold
CCTPV2Sm4AdWt5296sk4P66VBZ7bEhcARwFaaS9YPbeC CCTPmbSD7gX1bxKPAmg77w8oFzNFpaQiQUWD43TKaecd | message_transmitter_v2, message_transmitter | circle cctp, cctp, circle message transmitter, circle bridge, cross chain transfer protocol | bridge usdc cross chain attested message
| ccip_offramp | chainlink ccip, ccip offramp, ccip | bridge cross chain message
NTtAaoDJhkeHeaVUHnyhwbPNAN6WgBpHkHBTc6d7vLK | example_native_token_transfers, wormhole_ntt | wormhole ntt, ntt, native token transfers, wormhole | bridge cross chain token transfer
| ntt_transceiver | wormhole ntt transceiver, ntt transceiver, wormhole | bridge cross chain message transceiver
| wormhole_governance | wormhole governance, wormhole | cross chain governance
EtZMZM22ViKMo4r5y4Anovs3wKQ2owUmDpjygnMMcdEX | wormhole_post_message_shim | wormhole post message shim, wormhole core shim, wormhole | bridge cross chain post message
EFaNWErqAtVWufdNb7yofSHHfWFos843DFpu4JBw24at | wormhole_verify_vaa_shim | wormhole verify vaa shim, wormhole vaa, wormhole | bridge guardian signatures verify vaa
rec5EKMGg6MxZYaMdyBfgwp4d5rB9T1VQH5pJv5LtFJ rec2HHDDnjLfj4kE7VyEtFA1HPGQLK33259532cRyHp | pyth_solana_receiver | pyth receiver, pyth solana receiver, pyth, pyth pull oracle | oracle price update
pythWSnswVUd12oZpeFP8e9CVaEqJg25g1Vtc2biRsT pyt2F414BA6dPttK6RddPZUdHfapoBN24GL5wbrPCou | pyth_push_oracle | pyth push oracle, pyth price feed, pyth | oracle price feed
pytd2yyk641x7ak7mkaasSJVXh6YYZnC7wTmtgAyxPt | pyth_lazer_solana_contract | pyth lazer, pyth pro, pyth | oracle price low latency signed message
SBondMDrcV3K4kxZR1HNVT7osZxAHVHgYXL5Ze1oMUv | sb_on_demand, switchboard_on_demand | switchboard on demand, switchboard, switchboard v3 | oracle pull feed randomness vrf
SW1TCH7qEPTdLsDHRgPuMQjbQxKdH2aBStViMFnt64f | switchboard_v2 | switchboard v2, switchboard, switchboard aggregator | oracle aggregator feed vrf
compr6CUsB5m2jS4Y3831ztGSTnDpnKJTKS95d64XVq | account_compression | light protocol, zk compression, light protocol account compression, light system | merkle tree state compression
| jet_rewards | jet rewards, jet protocol, jet governance rewards | airdrop vesting award distribution
| spl_token_lending | spl token lending, solend, save, port finance | lend borrow reserve obligation
DRLYxueWz6iymdsaRCER6iv6v9zL7gFWANwDL2V5VUx1 | donation_relay | donation relay | donate charity
CHNLxYvVA28MJP9PrFuDXccuoGXAx7jBacfLEkahyGsX | paymentChannels, payment_channels | payment channels, x402 channels, solana payment channels | payment channel voucher micropayment
| spl_binary_option | spl binary option, binary option | prediction bet option
| spl_binary_oracle_pair | spl binary oracle pair | prediction bet pass fail
| spl_feature_proposal | feature proposal | runtime feature activation vote
| spl_record | spl record, record program | store data bytes
| spl_stateless_asks | stateless asks, spl stateless asks | nft offer sale
| tic_tac_toe | tic tac toe, noughts and crosses | game
"""


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


@cache
def _table() -> tuple[dict[str, KnownProgram], dict[str, list[KnownProgram]]]:
    by_address: dict[str, KnownProgram] = {}
    by_name: dict[str, list[KnownProgram]] = {}
    for row in filter(None, _ROWS.splitlines()):
        addresses, idl_names, called, about = map(str.strip, row.split("|"))
        known = KnownProgram(
            tuple(addresses.split()), _split(idl_names), _split(called), about
        )
        by_address |= dict.fromkeys(known.addresses, known)
        for name in known.names:
            by_name.setdefault(letters(name), []).append(known)
    return by_address, by_name


def known_program(name: str, address: str | None) -> KnownProgram | None:
    """Return the row of the program at *address*, or without an address that of an IDL called *name*."""
    by_address, by_name = _table()
    if address is not None:
        return by_address.get(address)
    rows = by_name.get(letters(name), [])
    return rows[0] if rows else None


def known_names() -> list[str]:
    """Return all names by which people call well-known programs."""
    by_address, by_name = _table()
    rows = [*by_address.values(), *(row for rows in by_name.values() for row in rows)]
    return list(dict.fromkeys(name for row in rows for name in row.called))


def namesake_of(name: str, address: str) -> KnownProgram | None:
    """Return a well-known program at another address that people call as the program at *address* calls itself."""
    by_address, _ = _table()
    mine = letters(name)
    if address in by_address:
        return None
    rows = (
        row
        for row in by_address.values()
        if mine in map(letters, (*row.names, *row.called))
    )
    return next(rows, None)
