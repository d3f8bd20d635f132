"""What goes in and out of a partition is counted in batches, records and bytes."""

from engine.traffic import Traffic
from tests.wire.kafka.requests import batch


def test_a_batch_counts_with_its_records_and_bytes() -> None:
    traffic, records = Traffic(), batch(3)
    traffic.received(records)
    traffic.received(memoryview(records))
    assert (traffic.received_batches, traffic.received_records) == (2, 6)
    assert traffic.received_bytes == 2 * len(records)


def test_counts_can_be_summed() -> None:
    one, other = Traffic(), Traffic()
    one.sent(2, 100)
    other.sent(3, 50)
    other.received(batch())
    one.add(other)
    assert (one.sent_records, one.sent_bytes, one.received_records) == (5, 150, 1)
    assert other.sent_records == 3
