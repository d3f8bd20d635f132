"""A partition's log: segments, indexes, snapshots, recovery. `log.py` opens with its invariants."""
