"""The `exact` scheme on Solana: one TransferChecked of exactly the price, sponsored by the facilitator (X402.md 3)."""
