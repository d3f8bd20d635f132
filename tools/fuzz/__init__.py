"""Fuzzers: long runs of hostile input, which `make fuzz` starts."""
