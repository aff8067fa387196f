"""Method bodies of specs: a typed subset of Python that becomes the handlers of a program.

| module | does |
|---|---|
| numbers.py, addresses.py, running.py | what bodies use when they run as Python |
| scope.py | what each name of a spec means in a body |
| tree.py | the typed tree of a checked body |
| checker.py | checks the statements of a body, and makes its tree |
| expressions.py, calls.py | checks the expressions and calls in it |
| function.py | what the checks of one function share |
| aliases.py | which accounts of a body must not be the same account |
| problems.py | the refusals, each with file, line and column |

`render/handlers` turns the trees into Rust.
"""
