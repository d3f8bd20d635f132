"""A group consumer of confluent-kafka that speaks the new consumer protocol."""

from typing import Any

from confluent_kafka import Consumer, KafkaException

from compat_tests.groups.speaking import commands, options, say


def main() -> None:
    given = options()
    settings = {
        "bootstrap.servers": given["bootstrap"],
        "group.id": given["group"],
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
        "log_level": 0,
    }
    if "assignor" in given:
        settings["group.remote.assignor"] = given["assignor"]
    if "instance" in given:
        settings["group.instance.id"] = given["instance"]
    consumer = Consumer(settings)
    consumer.subscribe([given["topic"]], on_assign=_assigned, on_revoke=_revoked, on_lost=_revoked)
    while True:
        message = consumer.poll(0.02)
        if message is not None and message.error():
            say(error=str(message.error()))
        elif message is not None:
            say(record=[message.partition(), message.offset(), message.value().decode()])
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
