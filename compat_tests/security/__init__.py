"""Who may come in and do what: the same secured broker of either kind, raw requests, and real clients."""
