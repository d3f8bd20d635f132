"""What goes in and out of a partition is counted in batches, records and bytes."""

from engine.partition.traffic import Traffic


def test_a_batch_counts_with_its_records_and_bytes() -> None:
    traffic = Traffic()
    traffic.received(3, 200)
    traffic.received(1, 90)
    assert (traffic.received_batches, traffic.received_records) == (2, 4)
    assert traffic.received_bytes == 290


def test_counts_can_be_summed() -> None:
    one, other = Traffic(), Traffic()
    one.sent(2, 100)
    other.sent(3, 50)
    other.received(1, 90)
    one.add(other)
    assert (one.sent_records, one.sent_bytes, one.received_records) == (5, 150, 1)
    assert other.sent_records == 3
