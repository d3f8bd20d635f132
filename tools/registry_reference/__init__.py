"""Tidegate's registry beside another one: the same calls to both, and what they answer otherwise."""
