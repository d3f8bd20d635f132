"""Internal topics of Streams applications are made once, and what cannot be made is told before it is tried again."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import trio_test

from coordinators.group.streams.internal_topics import PAUSE_S, REMEMBERED_AT_MOST, StreamsTopics
from coordinators.group.streams.requests import StreamsHeartbeatAnswer, StreamsStatus, StreamsStatusCode
from coordinators.topic_creation import TopicSpec
from engine.clock import ManualClock
from engine.errors import BrokerError, InvalidConfig, TopicAlreadyExists

MISSING = StreamsStatus(StreamsStatusCode.MISSING_INTERNAL_TOPICS, "missing")
DELAYED = StreamsStatus(StreamsStatusCode.ASSIGNMENT_DELAYED, "delayed")


@define(eq=False)
class Controller:
    """Notes what it is asked for; the tasks wait until they are run."""

    results: dict[str, BrokerError] = field(factory=dict)
    asked: list[str] = field(factory=list)
    tasks: list[tuple[Callable[..., Awaitable[object]], tuple[Any, ...]]] = field(factory=list)
    is_open: bool = True

    @property
    def background(self) -> "Controller":
        return self

    def start_soon(self, function: Callable[..., Awaitable[object]], *arguments: object) -> None:
        self.tasks.append((function, arguments))

    async def run(self) -> None:
        tasks, self.tasks = self.tasks, []
        for function, arguments in tasks:
            await function(*arguments)

    async def create_topics(self, specs: Sequence[TopicSpec]) -> list[Any]:
        await trio.lowlevel.checkpoint()
        self.asked += [spec.name for spec in specs]
        return [self.results.get(spec.name) for spec in specs]


def answer(*names: str) -> StreamsHeartbeatAnswer:
    status = (DELAYED, MISSING) if names else (DELAYED,)
    return StreamsHeartbeatAnswer("m", 1, status=status, missing=tuple(TopicSpec(name) for name in names))


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def topics(controller: Controller) -> StreamsTopics:
    return StreamsTopics(controller, ManualClock())  # type: ignore[arg-type]


@trio_test
async def test_a_topic_is_made_once_however_many_ask(controller: Controller, topics: StreamsTopics) -> None:
    assert topics.see_to(answer()) == answer()
    for _ in range(3):
        assert topics.see_to(answer("a", "b")) == answer("a", "b")
    topics.see_to(answer("b", "c"))
    await controller.run()
    assert controller.asked == ["a", "b", "c"]


@trio_test
async def test_a_failure_is_told_and_tried_again_after_a_while(controller: Controller, topics: StreamsTopics) -> None:
    controller.results = {"a": InvalidConfig("no such key"), "b": TopicAlreadyExists("there")}
    topics.see_to(answer("a", "b"))
    await controller.run()
    told = topics.see_to(answer("a"))
    assert told.status == (DELAYED, MISSING._replace(detail="missing; Creation failed: a (no such key)."))
    assert not controller.tasks
    topics.clock.advance_ms(PAUSE_S * 1000)  # type: ignore[attr-defined]
    controller.results = {}
    assert topics.see_to(answer("a")).status == (DELAYED, MISSING)
    await controller.run()
    assert controller.asked == ["a", "b", "a"]
    assert topics.see_to(answer("a")).status == (DELAYED, MISSING)


@trio_test
async def test_failures_are_remembered_within_bounds(controller: Controller, topics: StreamsTopics) -> None:
    names = [f"t{number}" for number in range(REMEMBERED_AT_MOST + 5)]
    controller.results = dict.fromkeys(names, InvalidConfig("no"))
    topics.see_to(answer(*names))
    await controller.run()
    assert topics.see_to(answer(names[0])).status == (DELAYED, MISSING), "forgotten, so it is tried again"
    assert "(no)" in topics.see_to(answer(names[-1])).status[1].detail


@trio_test
async def test_a_node_that_stops_begins_nothing(controller: Controller, topics: StreamsTopics) -> None:
    controller.is_open = False
    topics.see_to(answer("a"))
    assert not controller.tasks
