"""A node is made whole before it begins: nothing of it is touched until then, and no door lacks a service."""

import random
from pathlib import Path

import pytest
import trio
from trio.testing import trio_test

from engine.files.memory import MemoryFiles
from engine.timers import Timers
from tests.simulation.world import make_world
from tests.wire.http.door import open_http_door
from tidegate.composition import Foundation
from tidegate.config import BrokerConfig
from wire.http.application import load_application
from wire.services import MissingService


@trio_test
async def test_a_foundation_is_laid_without_touching_a_file() -> None:
    files = MemoryFiles()
    async with trio.open_nursery() as nursery:
        world = make_world(nursery, files, random.Random(1), "boot")
        under = Foundation.lay(world, "/data", BrokerConfig.load(values={}).settings)
        assert (files.calls, under.rounds.idle()) == (0, True)
        nursery.cancel_scope.cancel()


@trio_test
async def test_a_running_node_has_every_service_that_a_handler_or_route_names(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        parts = door.broker.runtime.parts
        assert all(
            api.handle.__code__.co_argcount == 2 + len(api.handle.__defaults__ or ())
            for api in parts.server.apis.values()
        )
        assert parts.node.services[Timers] is parts.node.timers
        assert parts.operations.server is not None
        load_application(parts.operations.server._services)
        with pytest.raises(MissingService, match=r"wire\.http\.routes"):
            load_application(parts.node.services)
