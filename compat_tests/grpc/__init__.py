"""The gRPC door, by gRPC's own client."""
