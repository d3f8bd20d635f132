"""Delay, cancel, replace, priority and expiry asked for by headers, with every client, unchanged."""
