"""Tables of the field's words, as text files: what people say, and what programs call it."""
