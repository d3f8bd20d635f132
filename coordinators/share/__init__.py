"""Share groups (KIP-932): a work queue over a topic, each record acknowledged on its own."""
