"""The document over the wire."""

from pathlib import Path

from trio.testing import trio_test

import tidegate
from tests.wire.http.door import open_http_door


@trio_test
async def test_the_document_is_served(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        document = await door.get("/openapi.json")
        assert document["info"]["version"] == tidegate.__version__
        assert "securitySchemes" not in document["components"]


@trio_test
async def test_it_tells_that_a_token_is_needed(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        document = await door.get("/openapi.json", {"authorization": "Bearer secret"})
        assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
