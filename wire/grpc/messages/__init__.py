"""The messages of `proto/`, written by `python -m tools.protos`: classes, and beside them their types for mypy."""
