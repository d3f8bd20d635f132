"""A group consumer of confluent-kafka; `run_confluentnew.py` is the same by the new consumer protocol."""

from typing import Any

from confluent_kafka import Consumer, KafkaException

from compat_tests.groups.speaking import commands, options, say

CLASSIC, NEW = "classic", "consumer"
POLL_S = {CLASSIC: 0.05, NEW: 0.02}


def main(protocol: str = CLASSIC) -> None:
    given = options()
    settings = {
        "bootstrap.servers": given["bootstrap"],
        "group.id": given["group"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "group.protocol": protocol,
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }
    if protocol == CLASSIC:
        settings["session.timeout.ms"] = given.get("session_ms", 6000)
        settings["heartbeat.interval.ms"] = given.get("heartbeat_ms", 300)
    if "strategy" in given:
        settings["partition.assignment.strategy"] = given["strategy"]
    if "assignor" in given:
        settings["group.remote.assignor"] = given["assignor"]
    if "instance" in given:
        settings["group.instance.id"] = given["instance"]
    consumer = Consumer(settings)
    consumer.subscribe([given["topic"]], on_assign=_assigned, on_revoke=_revoked, on_lost=_revoked)
    while True:
        message = consumer.poll(POLL_S[protocol])
        if message is not None and message.error():
            say(error=str(message.error()))
        elif message is not None:
            say(record=[message.partition(), message.offset(), message.value().decode()])
            if given.get("commit", True):
                _commit(consumer, message)
        for command in commands():
            if command == "close":
                consumer.close()
                say(closed=True)
                return


def _commit(consumer: Consumer, message: Any) -> None:
    try:
        consumer.commit(message, asynchronous=False)
    except KafkaException as error:
        say(error=str(error))


def _assigned(_: Consumer, partitions: list[Any]) -> None:
    say(assigned=[[each.topic, each.partition] for each in partitions])


def _revoked(_: Consumer, partitions: list[Any]) -> None:
    say(revoked=[[each.topic, each.partition] for each in partitions])


if __name__ == "__main__":
    main()
