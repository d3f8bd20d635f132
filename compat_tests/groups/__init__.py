"""Consumer groups: the classic protocol with every client, and by hand."""
