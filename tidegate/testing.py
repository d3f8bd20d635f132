"""A broker for tests, or a cluster of them: own processes, free ports, a temporary directory.

    from tidegate import testing

    with testing.broker({"num.partitions": "6"}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})

    with testing.cluster(nodes=3) as cluster:
        cluster.kill(2)

Being another process, a broker is independent of the event loop, threads and packages of the program that uses it,
and it can be killed and started again, which is how a client's behaviour in a failure is tested.
"""

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.running_cluster import RunningCluster

_READY = re.compile(
    rb"^tidegate ready kafka=(\S+):(\d+)(?:[^\n]* http=\S+:(\d+))?(?:[^\n]* grpc=(\S+))?"
    rb"(?:[^\n]* text=(\S+))?(?:[^\n]* registry=\S+:(\d+))?[^\n]*\n",
    re.MULTILINE,
)
_HOST = "127.0.0.1"
_MODULE = "tidegate._child"


class BrokerDidNotStart(RuntimeError):
    """The server ended or kept silent instead of becoming ready; the message carries what it logged."""


class BrokerEnded(RuntimeError):
    """The server had ended by itself when it was to be stopped; the message carries what it logged."""


class BrokerDidNotStop(RuntimeError):
    """The server did not end in time after SIGTERM and was killed; the message carries what it logged."""


@contextlib.contextmanager
def broker(
    config: Mapping[str, str] | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = 10.0,
) -> "Iterator[RunningBroker]":
    """Run a broker for the length of a `with` block.

    `config` holds broker keys by Kafka's names. Without `data_dir` its data is thrown away at the end.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-", ignore_cleanup_errors=True) as scratch:
        data = Path(data_dir) if data_dir is not None else Path(scratch) / "data"
        running = RunningBroker(config or {}, data, Path(scratch) / "server.log", timeout_s)
        try:
            running.start()
            yield running
            running.stop()
        finally:
            running.kill()


@contextlib.contextmanager
def cluster(
    nodes: int = 3,
    config: Mapping[str, str] | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    racks: Sequence[str] = (),
    timeout_s: float = 30.0,
    **settings: object,
) -> "Iterator[RunningCluster]":
    """Run a cluster for the length of a `with` block: an etcd, and nodes numbered from 1 on.

    Broker keys go to every node: in `config` by Kafka's names, or as arguments with underscores for dots
    (`min_insync_replicas=2`). `racks` says where each node stands.
    """
    from tidegate.running_cluster import RunningCluster

    keys = dict(config or {}) | {name.replace("_", "."): _text(value) for name, value in settings.items()}
    with tempfile.TemporaryDirectory(prefix="tidegate-", ignore_cleanup_errors=True) as scratch:
        directory = Path(data_dir) if data_dir is not None else Path(scratch)
        with RunningCluster.make(directory, nodes, keys, racks=racks, timeout_s=timeout_s) as running:
            yield running


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class RunningBroker:
    """A server process, which may be stopped, killed and started again on the same data and port."""

    def __init__(self, config: Mapping[str, str], data_dir: Path, log_file: Path, timeout_s: float) -> None:
        self.data_dir = data_dir
        self._config = dict(config)
        self._log_file = log_file
        self._timeout_s = timeout_s
        self._host = _HOST
        self._port = 0
        self._http_port = -1
        self._grpc: str | None = None
        self._text: str | None = None
        self._registry_port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __repr__(self) -> str:
        state = f"pid {self._process.pid}" if self._process is not None else "not running"
        return f"<RunningBroker {self.bootstrap}, {state}>"

    @property
    def port(self) -> int:
        """The port of the Kafka listener; it stays the same over restarts."""
        return self._port

    @property
    def bootstrap(self) -> str:
        """What a client takes as `bootstrap.servers`."""
        return f"{self._host}:{self._port}"

    @property
    def has_door(self) -> bool:
        """Whether `http_url` is known."""
        return self._http_port > 0

    @property
    def http_url(self) -> str:
        """Where the operations door answers (health, metrics, topics, groups); the same over restarts."""
        if not self.has_door:
            raise RuntimeError("the broker has no operations door: it has not run yet, or http.port is 0")
        scheme = "https" if self._config.get("http.security.protocol") == "SSL" else "http"
        return f"{scheme}://{_HOST}:{self._http_port}"

    @property
    def grpc_address(self) -> str:
        """Host and port of the gRPC door, which is there where `grpc.port` is set."""
        if self._grpc is None:
            raise RuntimeError("the broker has no gRPC door: it has not run yet, or grpc.port is 0")
        return self._grpc

    @property
    def text_address(self) -> str:
        """Host and port of the text door, which is there where `text.port` is set."""
        if self._text is None:
            raise RuntimeError("the broker has no text door: it has not run yet, or text.port is 0")
        return self._text

    @property
    def registry_url(self) -> str:
        """Where the schema registry answers, if `registry.port` is set (-1 is a free one); the same over restarts."""
        if not self._registry_port:
            raise RuntimeError("the broker has no schema registry: it has not run yet, or registry.port is 0")
        scheme = "https" if self._config.get("registry.security.protocol") == "SSL" else "http"
        return f"{scheme}://{_HOST}:{self._registry_port}"

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether the server was started and has not ended, by itself or otherwise."""
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self) -> Path:
        """Where the server logs to."""
        return self._log_file

    def log(self) -> str:
        """What the server has logged so far, over all its starts."""
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        self.begin()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def begin(self) -> None:
        """The first half of `start`."""
        if self._process is not None:
            raise RuntimeError("the broker is running already")
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                # Ctrl-C is for the test program, which stops us as it leaves its `with` block.
                start_new_session=True,
            )

    def stop(self) -> None:
        """Stop the server cleanly (SIGTERM); nothing happens if it is not running."""
        self.ask_to_stop()
        self.wait_until_stopped()

    def ask_to_stop(self) -> None:
        """The first half of `stop`."""
        if self._process is None:
            return
        if (code := self._process.poll()) is not None:
            self._forget()
            raise BrokerEnded(f"the server ended by itself with exit code {code}; {self._logged()}")
        self._process.send_signal(signal.SIGTERM)
        # One that was paused goes on, to its end.
        self._process.send_signal(signal.SIGCONT)

    def wait_until_stopped(self) -> None:
        """The second half of `stop`."""
        if self._process is None:
            return
        try:
            self._process.wait(self._timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BrokerDidNotStop(f"no end {self._timeout_s} s after SIGTERM; {self._logged()}") from None
        self._forget()

    def pause(self) -> None:
        """Have the server stand still (SIGSTOP), as a machine that hangs would."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._running().send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the server at once (SIGKILL), as a crash would; nothing happens if it is not running."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._forget()

    def restart(self) -> None:
        """Stop cleanly, then start again on the same data and port."""
        self.stop()
        self.start()

    def _command(self) -> list[str]:
        # -P: a file in the current directory must not stand in for one of the server's modules.
        command = [sys.executable, "-P", "-m", _MODULE, "serve"]
        for key, options in (
            ("listeners", ["--host", _HOST, "--kafka-port", str(self._port)]),
            ("http.port", ["--http-port", str(self._http_port)]),
            ("log.dirs", ["--data-dir", str(self.data_dir)]),
        ):
            # What the test chooses itself is not chosen here.
            command += [] if key in self._config else options
        for key, value in self._config.items():
            is_found = key == "registry.port" and self._registry_port
            command += ["--set", f"{key}={self._registry_port if is_found else value}"]
        return command

    def wait_until_ready(self) -> None:
        """The second half of `start`."""
        output = b""
        for chunk in _chunks(_stdout(self._running()), time.monotonic() + self._timeout_s):
            output += chunk
            if match := _READY.search(output):
                host, port, http_port, grpc, text, registry_port = match.groups()
                # Who listens everywhere is found here.
                self._host = _HOST if host in (b"0.0.0.0", b"[::]") else host.decode()
                self._port, self._http_port = int(port), int(http_port or 0)
                self._grpc = None if grpc is None else grpc.decode()
                self._text = None if text is None else text.decode()
                self._registry_port = int(registry_port or 0)
                return
        process = self._running()
        if (code := _exit_code(process)) is not None:
            raise BrokerDidNotStart(f"the server ended with exit code {code}; {self._logged()}")
        raise BrokerDidNotStart(f"the server was not ready within {self._timeout_s} s; {self._logged()}")

    def _logged(self) -> str:
        return f"it logged:\n{self.log().strip() or '(nothing)'}"

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("the broker is not running")
        return self._process

    def _forget(self) -> None:
        process, self._process = self._running(), None
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _stdout(process: "subprocess.Popen[bytes]") -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def _chunks(stream: IO[bytes], deadline: float) -> Iterator[bytes]:
    """What arrives on the stream, until it ends or the deadline passes."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            chunk = os.read(stream.fileno(), 4096)
            if not chunk:
                return
            yield chunk


def _exit_code(process: "subprocess.Popen[bytes]") -> int | None:
    """The exit code of a process that has closed its output or is still running."""
    try:
        return process.wait(0.2)
    except subprocess.TimeoutExpired:
        return None


def _environment() -> dict[str, str]:
    """Ours, and this very `tidegate` importable where it does not lie in site-packages."""
    environment = dict(os.environ)
    place = str(Path(__file__).resolve().parent.parent)
    if place not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{place}{os.pathsep}{known}" if known else place
    return environment
