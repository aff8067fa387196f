"""One call of a program, from arguments to outcome: prepare, simulate, measure effects, send, follow, explain."""
