"""Very many elements in a request of every API: no step of the loop is long for it, and nothing is left to collect."""

import gc
import time
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from tests.wire.kafka.door import frame, open_door
from tests.wire.kafka.requests import create_topic
from tests.wire.kafka.test_extreme_fields import _messages, sensible
from tools.fuzz.codec import random_message
from wire.kafka.apis import Api, registered
from wire.kafka.codec.schema import StructSchema, load_schema
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.init_producer_id import InitProducerIdRequest

ELEMENTS = 5000
LONGEST_STEP_S = 0.05
MOST_GARBAGE = 1000
"""A connection that ends leaves some hundred objects in rings, a request none."""

INDEXES = ("partition", "partition_index", "index")
NAMES = ("name", "topic", "resource_name", "group_id", "member_id")


class Steps(trio.abc.Instrument):
    """The longest that a task of the broker had the loop, by the processor's clock."""

    def __init__(self, client: trio.lowlevel.Task) -> None:
        self.longest_s = 0.0
        self._client = client
        self._began = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is not self._client:
            self.longest_s = max(self.longest_s, time.thread_time() - self._began)


def _multiplied(element: Any, number: int) -> Any:
    """A copy of an array's element that names something else."""
    if isinstance(element, str):
        return f"{number:x}"
    if isinstance(element, int):
        return number
    copied = deepcopy(element)
    for name in INDEXES:
        if hasattr(copied, name):
            setattr(copied, name, number)
            return copied
    for name in NAMES:
        if hasattr(copied, name):
            setattr(copied, name, f"{number:x}")
            return copied
    return copied


def enlarge(schema: StructSchema, message: Any) -> bool:
    """Give the innermost array of a request very many elements; whether there is one."""
    for member in schema.fields:
        value = getattr(message, member.name)
        if not member.is_array or not value:
            continue
        if member.struct is None or not enlarge(member.struct, value[0]):
            elements = [_multiplied(value[0], number) for number in range(ELEMENTS)]
            setattr(message, member.name, elements)
        return True
    return False


def large_request(api: Api, context: dict[str, Any]) -> bytes | None:
    schema = load_schema(api.key, api.last_version, "request")
    message = sensible(schema, random_message(schema, _messages(api), "request", Random(1)), api, context)
    return frame(message, api.last_version, 1) if enlarge(schema, message) else None


@pytest.mark.parametrize("api", registered().values(), ids=lambda api: api.name)
@trio_test
async def test_very_many_elements_stop_nobody(tmp_path: Path, api: Api) -> None:
    async with open_door(tmp_path, {"offsets.topic.num.partitions": 1}) as door:
        client = await door.connect()
        topic_id = (await create_topic(client, "t")).topic_id
        for kind, key in enumerate(("g", "id")):
            await client.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]))
        identity = await client.ask(InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=1000))
        context = {"topic_id": topic_id, "producer_id": identity.producer_id, "max_wait_ms": 0}
        context["v3_and_below_producer_id"] = identity.producer_id
        request = large_request(api, context)
        if request is None:
            return
        gc.collect()
        gc.disable()
        steps = Steps(trio.lowlevel.current_task())
        trio.lowlevel.add_instrument(steps)
        try:
            await client.send_bytes(request)
            await client.receive_frame()
        finally:
            trio.lowlevel.remove_instrument(steps)
            garbage = gc.collect()
            gc.enable()
    assert steps.longest_s < LONGEST_STEP_S
    assert garbage < MOST_GARBAGE
