"""What is done to a broker, one file per kind of load; each takes a `Trial` and returns figures."""
