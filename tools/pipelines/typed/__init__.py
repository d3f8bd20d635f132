"""Values that were written by schemas, as columns: what the registry says of them, and how they come to have types."""
