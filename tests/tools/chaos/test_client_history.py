"""What is wrong with what a client read is named, whichever client it is."""

from tools.chaos.client_history import ClientHistory
from tools.chaos.java_clients import JavaClients


def history(read: list[tuple[int, int, bytes]], acknowledged: list[tuple[int, int, bytes]]) -> ClientHistory:
    """Of records that were sent in the order of their values."""
    made = ClientHistory()
    for partition, offset, value in acknowledged:
        made.sent[partition].append(value)
        made.note_acknowledged(partition, value, offset)
    for partition, offset, value in read:
        made.note_read(partition, offset, value)
    return made


SENT = [(0, 0, b"0"), (0, 1, b"1"), (1, 0, b"2")]


def test_what_was_acknowledged_and_read_where_it_was_said_to_be_is_clean() -> None:
    made = history([*SENT, SENT[0]], SENT)
    assert made.is_caught_up()
    assert made.verdict().clean
    assert made.failures == []


def test_what_is_missing_is_lost() -> None:
    made = history(SENT[:2], SENT)
    assert not made.is_caught_up()
    assert made.verdict().lost == ((1, b"2"),)


def test_what_came_twice_is_told_in_one_partition_and_in_two() -> None:
    assert history([*SENT, (0, 2, b"1")], SENT).verdict().duplicated == ((0, b"1"),)
    assert history([*SENT, (1, 1, b"1")], SENT).verdict().duplicated == (("partitions", b"1"),)


def test_another_record_at_an_offset_is_told() -> None:
    made = history([*SENT, (0, 1, b"9")], SENT)
    assert len(made.failures) == 1
    moved = history([(0, 0, b"1"), (0, 1, b"0"), SENT[2]], SENT).verdict()
    assert moved.unexpected == (("moved", (0, 0, b"0")), ("moved", (0, 1, b"1")))
    assert moved.reordered == ((0, b"0"),)


def test_verifiable_clients_are_judged_by_the_numbers_of_their_records() -> None:
    clients = JavaClients("nowhere:1", 1)
    for value in ("0", "1", "3"):
        clients._sent(
            {"name": "producer_send_success", "partition": 0, "value": value, "offset": int(value), "topic": "t"}
        )
    clients._read({"name": "records_consumed", "count": 3})
    for offset, value in enumerate(("0", "2", "1")):
        clients._read({"name": "record_data", "partition": 0, "offset": offset, "value": value})
    assert not clients.is_caught_up()
    verdict = clients.verdict()
    # Of 2 nothing was told: it may be there, in its place.
    assert verdict.lost == ((0, b"3"),)
    assert verdict.reordered == ((0, b"1"),)
    clients._sent({"name": "producer_send_error", "message": "no"})
    assert clients.history.failures == ["VerifiableProducer: no"]
