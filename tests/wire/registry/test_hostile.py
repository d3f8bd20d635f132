"""Whatever is sent, the answer is no bug: paths, queries, headers and bodies put together at random, from a seed."""

import json
import random

import pytest
from trio.testing import trio_test

from tests.coordinators.schemas.registries import avro
from tests.wire.registry.doors import Door

WORDS = ("subjects", "versions", "schemas", "ids", "guids", "config", "mode", "contexts", "compatibility", "metadata")
ODD = ("", ".", "..", "1", "0", "-1", "latest", "%2F", "%00", "%ff", ":.a:s", ":.:s", "::", ":*:", "s", "%F0%9F%8C%8A")
QUERY = (
    "deleted",
    "deletedOnly",
    "offset",
    "limit",
    "subjectPrefix",
    "normalize",
    "permanent",
    "subject",
    "key",
    "force",
)
VALUES = ("true", "False", "-1", "2147483648", "x", "", ":*:", ":.a:", "%ff", "1e5")
MEMBERS = ("schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "compatibility", "mode")
GIVEN = (
    avro("a"),
    "{}",
    "[]",
    "",
    None,
    1,
    -1,
    2**40,
    [],
    {},
    [{"name": "x"}],
    "AVRO",
    "json",
    "PROTOBUF",
    "NONE",
    "IMPORT",
)


def target(chance: random.Random) -> str:
    parts = [chance.choice(WORDS if chance.random() < 0.6 else ODD) for _ in range(chance.randint(0, 6))]
    query = "&".join(f"{chance.choice(QUERY)}={chance.choice(VALUES)}" for _ in range(chance.randint(0, 3)))
    return "/" + "/".join(parts) + (f"?{query}" if query else "")


def body(chance: random.Random) -> bytes | None:
    if chance.random() < 0.3:
        return None
    members = {chance.choice(MEMBERS): chance.choice(GIVEN) for _ in range(chance.randint(0, 5))}
    data = bytearray(json.dumps(members).encode())
    for _ in range(chance.choice((0, 0, 0, 1, 3))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


@trio_test
@pytest.mark.parametrize("seed", range(4))
async def test_no_request_is_answered_with_a_bug(seed: int) -> None:
    chance, door = random.Random(seed), Door()
    statuses = set()
    for _ in range(1500):
        method, asked, sent = chance.choice(("GET", "POST", "PUT", "DELETE", "HEAD")), target(chance), body(chance)
        response = await door.respond(method, asked, sent)
        assert response.status < 500, (method, asked, sent, response.body)
        statuses.add(response.status)
        if response.status >= 400:
            assert json.loads(response.body).keys() == {"error_code", "message"}
    assert {200, 404, 405, 422} <= statuses
