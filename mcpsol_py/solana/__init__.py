"""Facts about Solana that several packages use: addresses, PDAs, base58, token accounts, rent, loaders."""
