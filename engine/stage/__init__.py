"""The stage of a partition: records that may not be read yet, and the order in which they are released."""
