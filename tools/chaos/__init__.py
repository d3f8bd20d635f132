"""Faults under load: real nodes, a real etcd and real clients, and a checker that says whether anything was lost.
`make chaos` runs it."""
