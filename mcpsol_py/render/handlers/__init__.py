"""Handlers from the bodies of a spec: typed trees to Rust, for all targets.

| module | does |
|---|---|
| names.py | the Rust names of what one body uses |
| dialects.py | how the libraries read accounts and call programs |
| expressions.py | expressions |
| statements.py | statements, local variables, and how long account data is borrowed |
| build.py | whole handlers and helpers |
| crates.py | the names in crates of pinocchio and solana-program; anchor/handlers.py has Anchor's |
"""
