"""What the codec raises."""


class WireError(Exception):
    """The peer sent bytes that are not the message they claim to be: its connection is closed."""


class EncodeError(Exception):
    """A message that we built cannot be written: a bug of ours, with the message's field named."""
