"""The chain as payments see it, and the payment program's client."""
