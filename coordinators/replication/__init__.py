"""Partitions on several nodes: followers fetch from leaders, leaders count who has what, and who is in sync."""
