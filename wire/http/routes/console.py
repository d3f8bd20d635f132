"""`/` and `/console/...`: the console for browsers, which is made of static files (`tools/console/`).

It shows what the other routes tell, in the name of whoever logs in: the files themselves tell nothing of the broker and
are open. A page of ours runs no script but its own, is put into no frame, and asks nobody but this door.
"""

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path

import msgspec

from coordinators.waiting import in_worker
from engine.workers import Workers
from wire.http.callers import Reception
from wire.http.messages import Call, Response
from wire.http.problems import Problem
from wire.http.rights import OPEN
from wire.http.routing import Route

FILES = Path(__file__).resolve().parent.parent / "console"
KINDS = {
    "index.html": "text/html; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
READ_ONLY_HEADER = "X-Tidegate-Read-Only"


class ConsolePlace(msgspec.Struct):
    """Which of its files."""

    file: str


@cache
def _read(name: str) -> bytes:
    return (FILES / name).read_bytes()


async def page(_: Call, workers: Workers, reception: Reception) -> Response:
    """The console's page. A header says whether changes are taken: so it offers none that would be refused."""
    headers = {**HEADERS, READ_ONLY_HEADER: str(reception.access.read_only).lower()}
    return await _file("index.html", workers, headers)


async def part(call: Call, workers: Workers) -> Response:
    """What the page is made of."""
    place: ConsolePlace = call.place
    if place.file not in KINDS:
        raise Problem(HTTPStatus.NOT_FOUND, f"the console has no file {place.file!r}")
    return await _file(place.file, workers)


async def _file(name: str, workers: Workers, headers: Mapping[str, str] = HEADERS) -> Response:
    body = await in_worker(workers, _read, name)
    return Response(HTTPStatus.OK.value, body, KINDS[name], headers)


ROUTES = (
    Route(
        "GET",
        "/",
        page,
        "The console, for browsers",
        media_type="text/html",
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
    Route(
        "GET",
        "/console/{file}",
        part,
        "What the console is made of",
        place=ConsolePlace,
        media_type="text/javascript",
        problems=(404,),
        needs_token=False,
        needs_readiness=False,
        rights=OPEN,
    ),
)
