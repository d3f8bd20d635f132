"""Calls as scripts make them: by curl."""

import json
import shutil
import subprocess
from typing import Any

import pytest

CURL = shutil.which("curl")
SECONDS = "20"


def curl(*arguments: str, sent: str | None = None) -> str:
    """What curl prints."""
    if CURL is None:
        pytest.skip("there is no curl")
    command = [CURL, "--silent", "--show-error", "--no-buffer", "--max-time", SECONDS, *arguments]
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 28), done.stderr
    return done.stdout


def post(url: str, body: Any) -> Any:
    return json.loads(curl(url, "-H", "Content-Type: application/json", "-d", json.dumps(body)))


def get(url: str) -> Any:
    return json.loads(curl(url))
