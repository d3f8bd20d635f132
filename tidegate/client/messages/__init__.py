"""The messages of the gRPC door, written by `python -m tools.protos`: classes, and beside them their types for mypy."""
