"""Background jobs of payments: reconciliation, webhooks, alerts, channel redemption."""
