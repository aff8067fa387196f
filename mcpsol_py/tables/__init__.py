"""Arrow tables of many accounts, instructions or events (extra `arrow`).

Fixed layouts are read with numpy, all rows at once. Other data are read row by row, with the codecs.
"""
