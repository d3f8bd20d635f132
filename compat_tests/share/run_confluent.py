"""Works from a share group with confluent-kafka as records' values say: BOOTSTRAP GROUP TOPIC (see workers.py)."""

import select
import sys
import time

from confluent_kafka import AcknowledgeType, ShareConsumer


def main() -> None:
    bootstrap, group, topic = sys.argv[1:]
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "log_level": 0,
    }
    consumer = ShareConsumer(settings)
    consumer.subscribe([topic])
    while not select.select([sys.stdin], [], [], 0)[0]:
        messages = [each for each in consumer.poll(0.2) if each.error() is None]
        for message in messages:
            consumer.acknowledge(message, judge(message))
        if messages:
            for place, error in consumer.commit_sync(20).items():
                if error is not None:
                    say("failed", place, error)
            for message in messages:
                say("settled", message.partition(), message.offset())
    consumer.close()
    say("closed")


def judge(message: object) -> AcknowledgeType:
    value, count = message.value().decode(), message.delivery_count()
    say("record", message.partition(), message.offset(), count, value)
    if value.startswith("hold"):
        time.sleep(3600)
    if value.startswith("release") and count == 1:
        return AcknowledgeType.RELEASE
    return AcknowledgeType.REJECT if value.startswith("reject") else AcknowledgeType.ACCEPT


def say(*words: object) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    main()
