"""A group consumer of kafka-python."""

from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaConnectionError, KafkaError

from compat_tests.groups.speaking import commands, options, say


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_assigned(self, assigned: Any) -> None:
        say(assigned=[[each.topic, each.partition] for each in assigned])

    def on_partitions_revoked(self, revoked: Any) -> None:
        say(revoked=[[each.topic, each.partition] for each in revoked])


def _poll(consumer: KafkaConsumer) -> dict[Any, list[Any]]:
    """While the broker is away polling may fail, as may anything; a program that lives on polls again.

    A poll takes longer than a rebalance: a join whose answer comes between two polls is sometimes forgotten, and the
    member is then silent until its session ends.
    """
    try:
        return dict(consumer.poll(timeout_ms=1000, max_records=20))
    except KafkaConnectionError as error:
        say(error=repr(error))
        return {}


def main() -> None:
    given = options()
    extra = {"group_instance_id": given["instance"]} if "instance" in given else {}
    consumer = KafkaConsumer(
        bootstrap_servers=given["bootstrap"],
        group_id=given["group"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=given.get("session_ms", 6000),
        heartbeat_interval_ms=given.get("heartbeat_ms", 300),
        fetch_max_wait_ms=100,
        metadata_max_age_ms=5000,
        **extra,
    )
    consumer.subscribe([given["topic"]], listener=Listener())
    while True:
        for records in _poll(consumer).values():
            for record in records:
                say(record=[record.partition, record.offset, record.value.decode()])
            if given.get("commit", True):
                try:
                    consumer.commit()
                except KafkaError as error:
                    say(error=repr(error))
        for command in commands():
            if command == "close":
                consumer.close()
                say(closed=True)
                return


if __name__ == "__main__":
    main()
