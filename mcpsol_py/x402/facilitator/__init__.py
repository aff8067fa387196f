"""A facilitator: verifies and settles payments for sellers."""
