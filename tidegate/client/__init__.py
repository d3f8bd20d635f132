"""A client of the gRPC door."""
