"""The operations door: HTTP for people, probes, Prometheus and scripts; no records pass through it.

What is imported at the broker's start is small. The protocol (h11), the checks of parameters (msgspec) and the
metrics' text format (prometheus-client) are loaded in a thread when the first caller comes.
"""
