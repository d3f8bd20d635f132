"""Topics on a catalogue in memory, for the tests of what is planned against them."""

import os
from typing import Any

import pytest
from attrs import define, field

from coordinators.topic_creation import TopicSpec
from coordinators.topic_view import Plan, Topic, TopicUpdate
from coordinators.topics import Topics
from engine.catalogue.catalogue import Catalogue, Commit
from engine.catalogue.memory import MemoryCatalogue
from engine.config.resolve import BrokerSettings
from engine.errors import BrokerError
from tests.coordinators.committing import commit_and_apply
from tidegate.config_keys import BROKER_KEYS

NODE_ID = 1


@define(eq=False)
class Desk:
    """Somebody who plans, commits and applies in one go, and can restart."""

    catalogue: Catalogue = field(factory=MemoryCatalogue)
    topics: Topics = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self, static: dict[str, object] | None = None) -> Topics:
        values = {name: BROKER_KEYS[name].coerce(value) for name, value in (static or {}).items()}
        self.topics = Topics.load(self.catalogue, BrokerSettings(values, keys=BROKER_KEYS), NODE_ID, os.urandom)
        return self.topics

    def create(self, name: str, partitions: int = 1, configs: dict[str, str | None] | None = None) -> Topic:
        self.run(self.topics.plan_create([TopicSpec(name, partitions, configs=configs or {})]))
        return self.topics.by_name[name]

    def run(self, plan: Plan[Any]) -> Any:
        """The first result; raised if it is a refusal."""
        self.commit(plan.commit)
        return accepted(plan)

    def commit(self, commit: Commit) -> list[TopicUpdate]:
        """What followed from it."""
        return commit_and_apply(self.catalogue, self.topics, commit)


def accepted(plan: Plan[Any]) -> Any:
    if isinstance(plan.results[0], BrokerError):
        raise plan.results[0]
    return plan.results[0]


@pytest.fixture
def desk() -> Desk:
    return Desk()
