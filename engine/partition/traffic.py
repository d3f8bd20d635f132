"""What clients brought to a partition and took from it since the broker started; counted per batch and per answer."""


class Traffic:
    """Plain numbers, read at a scrape."""

    __slots__ = ("received_batches", "received_bytes", "received_records", "sent_bytes", "sent_records")

    def __init__(self) -> None:
        self.received_batches = 0
        self.received_bytes = 0
        self.received_records = 0
        self.sent_bytes = 0
        self.sent_records = 0

    def received(self, records: int, size: int) -> None:
        """A producer's batch was taken; the log, or the stage, has checked it."""
        self.received_batches += 1
        self.received_bytes += size
        self.received_records += records

    def sent(self, records: int, size: int) -> None:
        """A consumer is sent so much."""
        self.sent_records += records
        self.sent_bytes += size

    def add(self, other: "Traffic") -> None:
        """Count the other's too."""
        self.received_batches += other.received_batches
        self.received_bytes += other.received_bytes
        self.received_records += other.received_records
        self.sent_bytes += other.sent_bytes
        self.sent_records += other.sent_records
