"""Retention and compaction: what a log lets go, by age, by size, and by key."""
