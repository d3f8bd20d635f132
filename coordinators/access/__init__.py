"""Who asks, and what it may do: callers, users, rules, quotas. Every door is given the same."""
