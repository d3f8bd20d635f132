"""Answers that become ready together are sent once per connection, the others at once."""

from wire.kafka.cork import Cork


class Connection:
    def __init__(self) -> None:
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1


def test_what_is_collected_is_sent_once() -> None:
    cork, first, second = Cork(), Connection(), Connection()
    cork.flush(first)
    assert first.flushed == 1
    cork.collect()
    for connection in (first, second, first):
        cork.flush(connection)
    assert (first.flushed, second.flushed) == (1, 0)
    cork.send()
    assert (first.flushed, second.flushed) == (2, 1)
    cork.flush(second)
    assert second.flushed == 2
