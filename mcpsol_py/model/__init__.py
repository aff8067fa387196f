"""The program model: what a program is. See types.py, program.py, resolve.py, check.py."""
