"""Which topics and nodes there are, who decides about them, and who carries that out on a node."""
