"""The demo: accounts and payments on a local cluster, offline."""
