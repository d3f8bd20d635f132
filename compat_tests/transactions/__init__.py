"""Transactions with each client."""
