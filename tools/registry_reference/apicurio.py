"""The same calls to Tidegate and to Apicurio, and what is answered otherwise."""

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.testing import broker
from tools.reference.apicurio import apicurio
from tools.registry_reference.calls import CALLS, RegistryCall

REASONS = Path(__file__).with_name("apicurio.toml")
Answer = tuple[int, Any]


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


def compare() -> tuple[int, dict[str, list[str]]]:
    """How many calls were made, and which were answered otherwise, by topic."""
    with broker({"registry.port": "-1"}, timeout_s=60) as running:
        ours = answers(running.registry_url)
    with apicurio() as other:
        theirs = answers(other.url)
    return len(CALLS), differing(ours, theirs)
