"""Traces of single records: what a trace is, which records get one, where the last ones are kept."""
