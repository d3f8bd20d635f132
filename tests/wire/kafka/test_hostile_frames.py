"""Mutated requests of every API on live connections: whatever they do, it is no bug of ours, and others are served."""

import logging
import os
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import trio
from trio.testing import trio_test

from tests.wire.kafka.apis.test_apis import request_of
from tests.wire.kafka.door import PATIENCE_S, Client, Door, frame, open_door
from tests.wire.kafka.requests import create_topic
from wire.kafka.apis import registered
from wire.kafka.messages.metadata import MetadataRequest

FRAMES = int(os.environ.get("HOSTILE_FRAMES", "400"))
FRAMES_PER_CONNECTION = 2
KEY_BYTES = 8
"""Length, API key and version stay as they are, so that a mutation reaches the API."""


def mutated(whole: bytes, chance: Random) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.randrange(1, 4)):
        position = chance.randrange(KEY_BYTES, len(data))
        match chance.randrange(4):
            case 0:
                data[position] ^= 1 << chance.randrange(8)
            case 1:
                data[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                data[position : position + 4] = chance.choice((b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff" * 4))
            case _:
                del data[position : position + chance.randrange(1, 5)]
                if len(data) <= KEY_BYTES:
                    break
    data[:4] = (len(data) - 4).to_bytes(4, "big")
    return bytes(data)


async def attack(door: Door, topic_id: bytes, chance: Random) -> None:
    client: Client = await door.connect()
    pieces = []
    for number in range(FRAMES_PER_CONNECTION):
        api = chance.choice(list(registered().values()))
        version = chance.randrange(api.first_version, api.last_version + 1)
        pieces.append(mutated(frame(request_of(api.name, api.key, version, topic_id), version, number), chance))
    with suppress(trio.BrokenResourceError), trio.fail_after(PATIENCE_S):
        for piece in pieces:
            await client.stream.send_all(piece)
        await client.stream.send_eof()
        while await client.stream.receive_some():
            pass
    await client.stream.aclose()


@trio_test
async def test_mutated_requests_end_at_most_their_connection(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chance = Random(int(os.environ.get("HOSTILE_SEED", "7")))
    async with open_door(tmp_path) as door:
        bystander = await door.connect()
        made = await create_topic(bystander, "t")
        for _ in range(FRAMES // FRAMES_PER_CONNECTION):
            await attack(door, made.topic_id, chance)
            assert (await bystander.ask(MetadataRequest(topics=[]))).controller_id == 1
    bugs = [record for record in caplog.records if record.levelno >= logging.ERROR and record.exc_info]
    assert not bugs, caplog.text
