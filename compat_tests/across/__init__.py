"""Scenarios that hold over several clients."""
