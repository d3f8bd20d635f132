"""Runs the tests in processes beside each other: `python -m tools.run_tests unit`.

They take the files between them (tests/taking.py): two from the front, where what lives in real time is, with processes
and sockets, and mostly waits; one from the back, where what computes is, or has machinery of its own. So two processors
have always something to do. The first process shows its progress; what the others have to say follows when they are
done. With arguments (`-k name`) there is one process for all.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

WHOLE = {"unit": ("tests", "--ignore=tests/test_tidy.py"), "compat": ("compat_tests",)}
SHOWN, BESIDE = "front", ("back", "front")
PYTEST = (sys.executable, "-m", "pytest", "-q")


def main(arguments: Sequence[str]) -> int:
    name, *options = arguments
    if options:
        return subprocess.run([*PYTEST, *WHOLE[name], *options], check=False).returncode
    with tempfile.TemporaryDirectory() as directory:
        return run_beside(WHOLE[name], Path(directory))


def run_beside(tests: Sequence[str], directory: Path) -> int:
    """Each test once, in one process or another; what they share lies in a directory."""
    command = [*PYTEST, "-p", "tests.taking", "--taken", str(directory / "taken"), *tests, "--end"]
    environment = {**os.environ, "TESTS_RUN_BESIDE": "1"}
    outputs = [directory / f"output-{number}" for number, _ in enumerate(BESIDE)]
    with _started([[*command, end] for end in BESIDE], outputs, environment) as others:
        statuses = [subprocess.run([*command, SHOWN], check=False, env=environment).returncode]
        statuses += [process.wait() for process in others]
    for output in outputs:
        sys.stdout.write(output.read_text(errors="replace"))
    sys.stdout.flush()
    return next(filter(None, statuses), 0)


@contextmanager
def _started(
    commands: Sequence[Sequence[str]], outputs: Sequence[Path], environment: dict[str, str]
) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """None of them outlives this block."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command, output in zip(commands, outputs, strict=True):
            with output.open("wb") as file:
                started.append(_start(command, file, environment))
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()
                process.wait()


def _start(command: Sequence[str], output: IO[bytes], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
