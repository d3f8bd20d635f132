"""`python -m tools.registry_reference`: the same calls to Tidegate and to Apicurio, and what is told otherwise.

Every difference has to be of a topic that `differences.toml` gives a reason for, and every reason needs a difference:
else the command ends with 1. So the list in docs/schemas.md, which has the same rows, stays true. `--all` shows the
answers of both where they differ, whether or not there is a reason.
"""

import argparse
import json
import sys
import tomllib
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.testing import broker
from tools.reference.apicurio import apicurio
from tools.registry_reference.calls import CALLS, RegistryCall

REASONS = Path(__file__).with_name("differences.toml")
Answer = tuple[int, Any]


def reasons() -> dict[str, dict[str, str]]:
    """By topic, what is so here and what is so there."""
    with REASONS.open("rb") as file:
        return tomllib.load(file)


def answers(url: str) -> list[Answer]:
    """Of all calls; of a refusal its code alone, for sentences may differ."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    found = [_answer(connection, parts.path, call) for call in CALLS]
    connection.close()
    return found


def _answer(connection: HTTPConnection, root: str, call: RegistryCall) -> Answer:
    body = None if call.body is None else json.dumps(call.body)
    connection.request(call.method, root + call.path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    data = response.read()
    try:
        told = json.loads(data)
    except ValueError:
        told = data.decode(errors="replace")
    if response.status >= 400:
        told = told.get("error_code") if isinstance(told, dict) else None
    return response.status, sorted(told) if isinstance(told, list) and all(isinstance(e, str) for e in told) else told


def differing(ours: list[Answer], theirs: list[Answer]) -> dict[str, list[str]]:
    """By topic, the calls that are answered otherwise, with both answers."""
    found: dict[str, list[str]] = {}
    for call, our, their in zip(CALLS, ours, theirs, strict=True):
        if our != their:
            told = f"{call.method} {call.path}\n    here  {our}\n    there {their}"
            found.setdefault(call.topic, []).append(told)
    return found


def main() -> int:
    """Compare, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tools.registry_reference", description=__doc__)
    parser.add_argument("--all", action="store_true", help="show every difference")
    shows_all = parser.parse_args().all
    with broker({"registry.port": "-1"}, timeout_s=60) as running:
        ours = answers(running.registry_url)
    with apicurio() as other:
        theirs = answers(other.url)
    found, known = differing(ours, theirs), reasons()
    for topic, told in found.items():
        if shows_all or topic not in known:
            print(f"{topic}:", *told, sep="\n  ")
    unused = sorted(known.keys() - found.keys())
    if unused:
        print(f"no difference any more: {', '.join(unused)}")
    unknown = found.keys() - known.keys()
    print(f"{len(CALLS)} calls, {sum(map(len, found.values()))} answered otherwise, {len(unknown)} without a reason")
    return 1 if unknown or unused else 0


if __name__ == "__main__":
    sys.exit(main())
