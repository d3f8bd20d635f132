"""Archives as tables of Delta Lake or Iceberg, one per topic: records, and how far they reach, in one commit."""
