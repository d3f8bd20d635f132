"""The gRPC door: HTTP/2 by h2 in our own tasks, messages of `proto/`, off unless a port is given.

Nothing of it but its configuration and its listener is loaded before somebody calls: see `server.py`.
"""
