"""Scenarios that need several nodes."""
