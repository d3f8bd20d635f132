"""The ways of requests through the code, as docs/architecture.md shows them."""

import re
from pathlib import Path

import pytest
import trio

from tools import request_paths
from tools.request_paths import REQUESTS, counts

PAGE = Path(request_paths.ROOT) / "docs/architecture.md"


def _shown() -> dict[str, tuple[int, int]]:
    """Functions and files by request, from the page's table."""
    rows = re.findall(r"^\| ([\w ]+) \| [^|]+ \| (\d+) in (\d+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: (int(functions), int(files)) for name, functions, files in rows}


@pytest.mark.slow
def test_the_page_shows_how_long_the_ways_are() -> None:
    found = {name: counts(way) for name, way in trio.run(request_paths.ways).items()}
    shown = _shown()
    assert set(shown) == set(REQUESTS)
    for name, (functions, files) in found.items():
        # A few differ from file system to file system, by how a round becomes durable.
        assert functions <= shown[name][0] + 5, f"the way of {name} has become longer: {functions} functions"
        assert functions >= shown[name][0] * 0.9, f"the way of {name} has become shorter: {functions} functions"
        assert files <= shown[name][1] + 2, f"the way of {name} has become wider: {files} files"


def test_a_way_is_in_the_order_of_its_calls() -> None:
    way = trio.run(request_paths.ways, ["fetch"])["fetch"]
    functions = [function for _, function in way]
    assert functions.index("KafkaConnection._handle") < functions.index("handle")
