"""Long runs that try to break the broker, and the checker that says whether they did: `make soak`."""
