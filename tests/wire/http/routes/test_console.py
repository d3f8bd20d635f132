"""The console's files over the wire, and that they are what its sources make."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest
from trio.testing import trio_test

from tests.wire.http.door import open_http_door
from wire.http.routes.console import FILES, HEADERS, KINDS

SOURCES = Path(__file__).resolve().parents[4] / "tools" / "console"
COMPRESSED_MAX_BYTES = 300_000


@trio_test
async def test_the_page_and_its_parts_are_served_to_everybody(tmp_path: Path) -> None:
    async with open_http_door(tmp_path, {"http.token": "secret"}) as door:
        for path, name in (("/", "index.html"), *((f"/console/{name}", name) for name in KINDS)):
            answer = await door.ask("GET", path)
            assert (answer.status, answer.headers["content-type"]) == (200, KINDS[name])
            assert answer.body == (FILES / name).read_bytes()
            assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]


@trio_test
@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapplication.py", "%2e%2e", "index.html%00", ""])
async def test_there_is_nothing_else(tmp_path: Path, name: str) -> None:
    async with open_http_door(tmp_path) as door:
        answer = await door.ask("GET", f"/console/{name}")
        assert answer.status == 404


def test_nothing_is_asked_of_others_and_no_script_stands_in_the_page() -> None:
    page = (FILES / "index.html").read_text()
    assert "//" not in page.replace("http://www.w3.org/2000/svg", "")
    assert page.count("<script") == page.count('<script type="module" src="console/console.js"></script>') == 1
    assert "style=" not in page
    for source in SOURCES.glob("src/**/*.ts*"):
        for risky in ("innerHTML", "InnerHTML", "eval(", "Function(", "document.write", "://"):
            assert risky not in source.read_text(), f"{source.name}: {risky}"


def test_it_is_small() -> None:
    assert sum(len(gzip.compress((FILES / name).read_bytes())) for name in KINDS) < COMPRESSED_MAX_BYTES


def test_the_files_are_what_the_sources_make(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules").is_dir():
        pytest.skip("the console is not set up (npm ci in tools/console)")
    subprocess.run([node, str(SOURCES / "build.mjs"), str(tmp_path)], check=True, timeout=100)
    for name in KINDS:
        assert (tmp_path / name).read_bytes() == (FILES / name).read_bytes(), "run node tools/console/build.mjs"
