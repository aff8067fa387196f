"""What `serve` does around the bridge: checks at the start, a trial start for clients, play money."""
