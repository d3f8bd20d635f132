"""Works from a share group with confluent-kafka as records' values say (workers.py): BOOTSTRAP GROUP TOPIC [MODE]."""

import select
import sys
import time

from confluent_kafka import AcknowledgeType, ShareConsumer


def main() -> None:
    bootstrap, group, topic, *mode = sys.argv[1:]
    is_explicit = mode != ["implicit"]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "share.acknowledgement.mode": "explicit" if is_explicit else "implicit",
        "log_level": 0,
    }
    consumer = ShareConsumer(settings)
    consumer.subscribe([topic])
    while not select.select([sys.stdin], [], [], 0)[0]:
        messages = [each for each in consumer.poll(0.2) if each.error() is None]
        for message in messages:
            if is_explicit:
                consumer.acknowledge(message, judge(message))
            else:
                told(message)
        if messages:
            for place, error in consumer.commit_sync(20).items():
                if error is not None:
                    say("failed", place, error)
            for message in messages:
                say("settled", message.partition(), message.offset())
    consumer.close()
    say("closed")


def judge(message: object) -> AcknowledgeType:
    value, count = told(message)
    if value.startswith("hold"):
        time.sleep(3600)
    if value.startswith("release") and count == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT if value.startswith("reject") else AcknowledgeType.ACCEPT


def told(message: object) -> tuple[str, int]:
    value, count = message.value().decode(), message.delivery_count()
    say("record", message.partition(), message.offset(), count, value)
    return value, count


def say(*words: object) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    main()
