"""Two tenants on one broker, by clients that know nothing of it."""
