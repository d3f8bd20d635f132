"""The registry's routes, a file for each of its words."""
