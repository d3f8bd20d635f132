"""A partition and all partitions of this node, and how what is written becomes durable."""
