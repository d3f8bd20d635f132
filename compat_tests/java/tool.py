"""Runs a Java tool against the broker under test and judges its status."""

import os
import subprocess
from collections.abc import Callable

from tools.reference.java import java_command, java_tool

CONSOLE_PATIENCE_MS = 40_000
"""How long the console consumer waits for one more record; it is stopped as soon as the test has seen enough."""


def tool(name: str, bootstrap: str, *arguments: str) -> str:
    """The output of a tool that has to succeed."""
    done = java_tool(name, *arguments, "--bootstrap-server", bootstrap)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def failing_tool(name: str, bootstrap: str, *arguments: str) -> str:
    """The output of a tool that has to fail."""
    done = java_tool(name, *arguments, "--bootstrap-server", bootstrap)
    assert done.returncode != 0, done.stdout
    return done.stdout + done.stderr


def console_text(bootstrap: str, *arguments: str, until: Callable[[str], object]) -> str:
    """What the console consumer shows, until that is enough or nothing more comes; some formatters end no line."""
    where = ("--bootstrap-server", bootstrap, "--timeout-ms", str(CONSOLE_PATIENCE_MS))
    command = java_command("ConsoleConsumer", *where, *arguments)
    shown = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as consumer:
        assert consumer.stdout is not None
        try:
            while not until(shown.decode(errors="replace")) and (piece := os.read(consumer.stdout.fileno(), 65_536)):
                shown += piece
        finally:
            consumer.kill()
    return shown.decode()
