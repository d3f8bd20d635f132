"""Requests sent by hand: what an answer looks like on the wire, and which error code it bears."""
