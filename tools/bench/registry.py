"""What the registry costs with many subjects: registering, looking up, by id; memory, and a start with all of them.

    python -m tools.bench.registry
    python -m tools.bench.registry --subjects 1000 --apicurio

Over one connection, one request after the other; a schema of some 300 bytes for each subject. `cpu_ms` is processor
time of the server for each request, which other work on the machine hardly touches, `per_s` what was reached. With
`--apicurio` the same is asked of Apicurio, in memory, which is fetched first; it needs Java 21. It ends by itself.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from attrs import define, field

from tidegate import testing
from tools.bench.processes import cpu_s, resident_mb
from tools.reference.apicurio import apicurio

MODULE = "tools.bench.registry"
HEADERS = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
Figures = dict[str, float]


def schema(number: int) -> str:
    """One of its own for each subject."""
    names = ("id", "customer", "street", "city", "country", "note")
    fields = [{"name": f"{name}_{number}", "type": ["null", "string"], "default": None} for name in names]
    return json.dumps({"type": "record", "name": f"Order{number}", "fields": fields[:5]}, separators=(",", ":"))


@define(eq=False)
class Asked:
    """A registry that is asked over one connection."""

    url: str
    pid: int
    _connection: HTTPConnection = field(init=False)
    _root: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        parts = urlsplit(self.url)
        self._connection, self._root = HTTPConnection(parts.hostname or "", parts.port, timeout=60), parts.path

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer, which must be one."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, self._root + path, data, HEADERS)
        response = self._connection.getresponse()
        told = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {told[:200]!r}")
        return json.loads(told)

    def close(self) -> None:
        """Nothing more is asked."""
        self._connection.close()

    def timed(self, count: int, ask: Callable[[int], Any]) -> tuple[Figures, list[Any]]:
        """So many requests, and what one came to."""
        cpu, began = cpu_s(self.pid), time.monotonic()
        found = [ask(number) for number in range(count)]
        spent, used = time.monotonic() - began, cpu_s(self.pid) - cpu
        return {"cpu_ms": round(used * 1000 / count, 3), "per_s": round(count / spent)}, found


def measure(asked: Asked, subjects: int) -> dict[str, Any]:
    """Register, look up by text, and get by id."""
    before = resident_mb(asked.pid)
    register, told = asked.timed(
        subjects, lambda number: asked.ask("POST", f"/subjects/s{number}/versions", {"schema": schema(number)})
    )
    after = resident_mb(asked.pid)
    ids = [each["id"] for each in told]
    look_up, _ = asked.timed(
        subjects, lambda number: asked.ask("POST", f"/subjects/s{number}", {"schema": schema(number)})
    )
    by_id, _ = asked.timed(subjects, lambda number: asked.ask("GET", f"/schemas/ids/{ids[number]}"))
    memory = {"before_mb": round(before, 1), "after_mb": round(after, 1)}
    return {"register": register, "look up": look_up, "by id": by_id, "memory": memory}


def tidegate(subjects: int) -> dict[str, Any]:
    """Of a broker of our own; with what a start takes before and after."""
    with testing.broker({"registry.port": "-1"}, timeout_s=60) as running:
        running.restart()
        empty_s, empty_mb = cpu_s(running.pid), resident_mb(running.pid)
        with closing(Asked(running.registry_url, running.pid)) as asked:
            asked.ask("GET", "/subjects")
            found = measure(asked, subjects)
        running.restart()
        start = {"empty_cpu_s": empty_s, "full_cpu_s": cpu_s(running.pid)}
        start |= {"empty_mb": round(empty_mb, 1), "full_mb": round(resident_mb(running.pid), 1)}
        with closing(Asked(running.registry_url, running.pid)) as again:
            if len(again.ask("GET", "/subjects")) != subjects:
                raise RuntimeError("subjects are missing after the start")
        return {**found, "start": start}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", type=int, default=10_000)
    parser.add_argument("--apicurio", action="store_true")
    given = parser.parse_args(arguments)
    found = {"tidegate": tidegate(given.subjects)}
    if given.apicurio:
        with apicurio() as other, closing(Asked(other.url, other.pid)) as asked:
            found["apicurio"] = measure(asked, given.subjects)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
