"""Consumer groups: membership and committed offsets, as event-sourced shards over `__consumer_offsets`."""
