"""Groups of the classic protocol: everybody joins a round, one member assigns for all, and everybody waits for it."""
