"""Deploying programs and publishing their IDLs."""
