"""One module a command, each with an attribute `command`; they wire library calls and hold no logic of their own."""
