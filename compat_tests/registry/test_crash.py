"""Ids in spite of kill -9 and of nodes that register at once: one for each schema, none twice, none left out."""

import json
import os
import threading
import time
import uuid
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.testing import RunningBroker, broker, cluster

CYCLES = int(os.environ.get("REGISTRY_KILLS", "2"))
WRITERS = 3


def schema(name: str) -> str:
    return json.dumps({"type": "record", "name": f"R{name}", "fields": [{"name": "id", "type": "int"}]})


def asked(url: str, method: str, path: str, body: Any = None) -> Any:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request(method, parts.path + path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        said = json.loads(response.read())
        assert response.status == 200, said
        return said
    finally:
        connection.close()


def registered(url: str, subject: str, text: str) -> int:
    return int(asked(url, "POST", f"/subjects/{subject}/versions", {"schema": text})["id"])


class Writer(threading.Thread):
    """Registers one schema after the other until it is told to stop; what was acknowledged counts."""

    def __init__(self, url: str, known: dict[str, int]) -> None:
        super().__init__(daemon=True)
        self._url, self._known = url, known
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            name = uuid.uuid4().hex
            try:
                self._known[name] = registered(self._url, f"s{name}", schema(name))
            except (OSError, HTTPException, ValueError):
                self.stopping.wait(0.02)  # killed; whether it is registered nobody knows


def killed_under_load(running: RunningBroker, known: dict[str, int]) -> None:
    before = len(known)
    writers = [Writer(running.registry_url, known) for _ in range(WRITERS)]
    for writer in writers:
        writer.start()
    deadline = time.monotonic() + 30
    while len(known) < before + 10 and time.monotonic() < deadline:
        time.sleep(0.005)
    running.kill()
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join(30)
    running.start()


def test_a_registry_that_is_killed_loses_nothing_and_gives_no_id_twice(tmp_path: Path) -> None:
    known: dict[str, int] = {}
    with broker({"registry.port": "-1"}, data_dir=tmp_path / "data", timeout_s=60) as running:
        for _ in range(CYCLES):
            killed_under_load(running, known)
        assert len(known) >= CYCLES * 10
        assert len(set(known.values())) == len(known)
        found = {each["subject"]: each["id"] for each in asked(running.registry_url, "GET", "/schemas")}
    assert {name: found.get(f"s{name}") for name in known} == known, "what was acknowledged is there"
    assert sorted(found.values()) == list(range(1, len(found) + 1)), "no id is left out, none is used twice"


def test_nodes_of_a_cluster_give_one_schema_one_id() -> None:
    with cluster(3, timeout_s=120) as running:
        doors = [f"{node.http_url}/schemas" for node in running.nodes.values()]
        ids: list[tuple[str, int]] = []

        def register(door: str) -> None:
            for number in range(8):
                ids.append((f"same{number}", registered(door, f"same{number}", schema(f"same{number}"))))
                own = uuid.uuid4().hex
                ids.append((own, registered(door, f"own{own}", schema(own))))

        threads = [threading.Thread(target=register, args=(door,)) for door in doors]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(ids) == 3 * 16
        by_name = {name: {found for other, found in ids if other == name} for name, _ in ids}
        assert all(len(found) == 1 for found in by_name.values()), by_name
        assert sorted(next(iter(found)) for found in by_name.values()) == list(range(1, 8 + 3 * 8 + 1))
        expected = {f"same{number}" for number in range(8)}
        for door in doors:
            _wait_for(door, expected, 8 + 3 * 8)


def _wait_for(door: str, expected: set[str], count: int) -> None:
    """Every node knows all of it, soon."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        subjects = asked(door, "GET", "/subjects")
        if len(subjects) == count and expected <= set(subjects):
            return
        time.sleep(0.05)
    raise AssertionError(f"{door} does not know all of it")
