"""A mutation test of `attack`: each generated check of a bundled program is left out once, and `attack` must report it.

sites.py finds the checks and writes a crate in which each can be switched off, crates.py builds that crate once for all
of a program's checks, and run.py attacks the program without one check at a time.
"""
