"""Web pages for people: served programs, their tools as forms, accounts and payments."""
