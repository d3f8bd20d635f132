"""What the door is shown of the broker."""

import threading
from pathlib import Path

from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from wire.http.surroundings import Access, Phase


def test_the_token_does_not_appear_in_a_log_line() -> None:
    assert "secret" not in repr(Access("secret"))


@trio_test
async def test_what_blocks_runs_in_another_thread(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        shown = door.broker.operations.surroundings
        assert shown.phase is Phase.READY
        assert await shown.in_thread(threading.get_ident) != threading.get_ident()
