"""Looks for requests that cost the broker much, by elements, duplicates and expansion, not by damage."""
