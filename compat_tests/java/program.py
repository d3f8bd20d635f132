"""Java programs of our own, compiled against Kafka's jars: one source file each, next to the test that runs it."""

import functools
import subprocess
import tempfile
from pathlib import Path

from tools.reference.java import TOOL_OPTIONS, class_path


def java_program(source: Path) -> list[str]:
    """The command that runs it."""
    return ["java", *TOOL_OPTIONS, "-cp", f"{_compiled(source).name}:{class_path(logging=False)}", source.stem]


@functools.cache
def _compiled(source: Path) -> "tempfile.TemporaryDirectory[str]":
    """Once per session; the folder goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="compat-java-")
    command = ["javac", "-Xlint:all", "-Werror", "-cp", class_path(logging=False), "-d", folder.name, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
