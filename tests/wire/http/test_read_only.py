"""A door that only shows: whatever would change something is refused, whoever asks; what only tells goes on."""

from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.http.door import open_http_door

SCHEMA = {"schema": '"string"'}


@trio_test
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/topics", {"name": "t"}),
        ("DELETE", "/topics/t", None),
        ("POST", "/topics/t/messages", {"value": "v"}),
        ("POST", "/schemas/subjects/s/versions", SCHEMA),
        ("PUT", "/schemas/config", {"compatibility": "NONE"}),
        ("DELETE", "/schemas/subjects/s", None),
    ],
)
async def test_a_door_that_only_shows_changes_nothing(
    tmp_path: Path, method: str, path: str, body: dict[str, str] | None
) -> None:
    async with open_http_door(tmp_path, {"http.read.only": True}) as door:
        answer = await door.ask(method, path, body=body)
        assert answer.status == 403
        assert b"http.read.only=true" in answer.body


@trio_test
async def test_it_still_tells_and_the_console_is_told_that_it_only_shows(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.read.only": True}) as door:
        assert (await door.get("/topics?internal=false"))["items"] == []
        # A question, though it is sent by POST.
        assert (await door.ask("POST", "/schemas/subjects/s", body=SCHEMA)).status == 404
        assert (await door.ask("GET", "/")).headers["x-tidegate-read-only"] == "true"
    async with open_http_door(tmp_path / "other") as door:
        assert (await door.ask("GET", "/")).headers["x-tidegate-read-only"] == "false"
