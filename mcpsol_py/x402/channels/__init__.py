"""Payments through channels of the payment-channels program: the schemes `upto` and
`batch-settlement`.
"""
