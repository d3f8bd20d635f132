"""The ledger of a dead-letter topic (`coordinators/letters/ledger.py`), made over the wire."""

from typing import Any

from coordinators.letters import ledger
from coordinators.letters.ledger import CONFIGS
from engine.errors import InvalidTopic
from tools.cli.errors import UsageMistake, refusal
from tools.cli.kafka import Kafka
from wire.kafka.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

TOPIC_EXISTS = 36


def ledger_of(topic: str) -> str:
    """The topic in which it stands what became of this one's letters."""
    try:
        return ledger.ledger_of(topic)
    except InvalidTopic as error:
        raise UsageMistake(str(error), "such a topic has no ledger") from None


async def make_ledger(kafka: Kafka, topic: str) -> None:
    """Make the ledger of a topic, unless it is there."""
    configs = [CreatableTopicConfig(key, value) for key, value in CONFIGS.items()]
    wanted = CreatableTopic(ledger_of(topic), 1, -1, [], configs)
    timeout_ms = round(kafka.profile.timeout_s * 1_000)
    answer: Any = await kafka.call(CreateTopicsRequest(topics=[wanted], timeout_ms=timeout_ms, validate_only=False))
    for each in answer.topics:
        if each.error_code not in (0, TOPIC_EXISTS):
            raise refusal(each.error_code, repr(each.name), each.error_message)
