"""A broker for the tests of the command line, and the command line itself."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from attrs import frozen
from typer.testing import CliRunner

from tidegate import testing
from tidegate.testing import RunningBroker
from tools.cli.app import app


@frozen
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What it said as JSON."""
        return json.loads(self.out)


Tidegate = Callable[..., Ended]
_numbers = count()


@pytest.fixture(scope="session")
def broker() -> Iterator[RunningBroker]:
    keys = {"group.initial.rebalance.delay.ms": "0", "group.share.min.record.lock.duration.ms": "1000"}
    with testing.broker(keys, timeout_s=60) as running:
        yield running


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No profile or variable of whoever runs the tests."""
    for name in ("PROFILE", "BOOTSTRAP", "HTTP", "TOKEN", "OUTPUT"):
        monkeypatch.delenv(f"TIDEGATE_CLI_{name}", raising=False)
    monkeypatch.setenv("TIDEGATE_CLI_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("TIDEGATE_CLI_DEBUG", "1")
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: str, stdin: str | bytes | None = None) -> Ended:
    """A command in this process, as the program runs it."""
    result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="tidegate")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ended(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def tidegate(broker: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> Tidegate:
    """The command line, told where the broker is."""
    monkeypatch.setenv("TIDEGATE_CLI_BOOTSTRAP", broker.bootstrap)
    monkeypatch.setenv("TIDEGATE_CLI_HTTP", broker.http_url)
    monkeypatch.setenv("TIDEGATE_CLI_TIMEOUT_S", "60")
    return run


@pytest.fixture
def topic(request: pytest.FixtureRequest, tidegate: Tidegate) -> str:
    """A topic of one partition for this test alone."""
    name = f"{request.node.name.split('[')[0].removeprefix('test_')[:60]}-{next(_numbers)}"
    assert tidegate("topic", "create", name, "--partitions", "1").code == 0
    return name
