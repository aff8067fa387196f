"""The configuration files of the command line: the bridge, its programs and payments, an agent's wallet."""
