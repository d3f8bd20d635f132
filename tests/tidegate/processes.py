"""`python -m tidegate` as a process, for tests of the command: what it prints, how it ends."""

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from tests.tidegate.timing import Timing, timed

PATIENCE_S = 15.0
# Several servers run at one time: without an operations door unless a test asks for one.
ENVIRONMENT = {"TIDEGATE_HTTP_PORT": "0"}
ROOT = Path(__file__).resolve().parent.parent.parent


@frozen
class Ended:
    """How a process ended and what it said."""

    code: int
    stdout: str
    stderr: str


# The command, which tells at its end, as its last line, which modules it has loaded.
TELLING_MODULES = (
    "import atexit, sys; atexit.register(lambda: print(*(name for name, module in sys.modules.items() if module))); "
    "from tidegate.__main__ import main; sys.exit(main())"
)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tidegate", *arguments]


def run(*arguments: str, environment: dict[str, str] | None = None, program: str | None = None) -> Ended:
    """A command that is expected to end by itself."""
    done = subprocess.run(
        [*(command() if program is None else [sys.executable, "-c", program]), *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class Server:
    """A server that is up; `address` is what it told."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None, program: str | None = None) -> None:
        start = command() if program is None else [sys.executable, "-c", program]
        self.process = subprocess.Popen(
            [*start, "serve", *arguments],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.line = ""
        self.address = self._ready()

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def _ready(self) -> str:
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE_S):
                self.kill()
                raise TimeoutError("the server did not become ready")
        line = self.process.stdout.readline()
        if not line.startswith("tidegate ready kafka="):
            raise RuntimeError(f"not ready: {line!r} {self.kill().stderr}")
        self.line = line.strip()
        return line.split("kafka=")[1].split()[0]

    def end(self, signal_number: int = signal.SIGTERM) -> Ended:
        """Ask it to stop and wait until it has."""
        self.process.send_signal(signal_number)
        return self._ended()

    def kill(self) -> Ended:
        """End it as a crash would."""
        self.process.kill()
        return self._ended()

    def _ended(self) -> Ended:
        stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, stdout, stderr)


@contextmanager
def serving(
    data_dir: Path, *arguments: str, environment: dict[str, str] | None = None, program: str | None = None
) -> Iterator[Server]:
    """A server on a free port; whatever happens it is gone after the block."""
    given = ("--data-dir", str(data_dir), "--kafka-port", "0", *arguments)
    server = Server(*given, environment=environment, program=program)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.kill()


def time_to_ready(data_dir: Path) -> Timing:
    with timed() as (timing, note):
        server = Server("--data-dir", str(data_dir), "--kafka-port", "0")
        note(server.process.pid)
    server.end()
    return timing
