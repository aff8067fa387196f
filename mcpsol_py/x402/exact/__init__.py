"""The `exact` scheme on Solana: one TransferChecked of exactly the price, whose fee the facilitator
pays.
"""
