"""Subscriptions, off chain and on chain behind one interface: plans, charges, and calls granted
instead of paid.
"""
