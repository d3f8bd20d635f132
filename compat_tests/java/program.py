"""Java programs of our own, compiled against Kafka's jars: one source file each, next to the test that runs it."""

import functools
import subprocess
import tempfile
from pathlib import Path

from tools.reference.java import TOOL_OPTIONS, class_path


def java_program(source: Path, jars: str | None = None) -> list[str]:
    """The command that runs it; with Kafka's own jars unless others are given."""
    path = jars or class_path(logging=False)
    return ["java", *TOOL_OPTIONS, "-cp", f"{_compiled(source, path).name}:{path}", source.stem]


@functools.cache
def _compiled(source: Path, path: str) -> "tempfile.TemporaryDirectory[str]":
    """Once per session; the folder goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="compat-java-")
    command = ["javac", "-Xlint:all", "-Werror", "-cp", path, "-d", folder.name, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
