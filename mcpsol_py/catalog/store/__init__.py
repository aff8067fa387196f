"""What a catalogue holds, in SQL: SQLite by default, PostgreSQL for several machines."""
