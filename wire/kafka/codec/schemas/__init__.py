"""The schemas of the served APIs, a module for each: the tables from which readers and writers are generated.

All are written by `tools/generate_messages.py` from kio, so that the broker starts and serves without importing it.
"""
