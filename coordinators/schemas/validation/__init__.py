"""Records held against schemas on their way in."""
