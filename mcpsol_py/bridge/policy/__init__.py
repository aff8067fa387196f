"""The owner's policy for signing, and the audit log."""
