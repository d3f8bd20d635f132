"""What the commands of `tidegate cluster` share: how partitions lie, and how they could."""
