"""The model of a program, shared by all packages: types.py, program.py, resolve.py, check.py."""
