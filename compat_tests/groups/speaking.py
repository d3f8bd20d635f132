"""How a consumer in its own process talks to the test: events out, commands in, one line each."""

import json
import os
import select
import sys
from typing import Any


def options() -> dict[str, Any]:
    return dict(json.loads(sys.argv[1]))


def say(**event: Any) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def commands() -> list[str]:
    """What was said since, without waiting."""
    if not select.select([sys.stdin], [], [], 0)[0]:
        return []
    return os.read(sys.stdin.fileno(), 4096).decode().split()
