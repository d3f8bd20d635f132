"""A catalogue that was lost comes back from the command line."""

from pathlib import Path

import pytest

from engine.catalogue.copy import copy_path
from tests.tools.cli.conftest import run
from tidegate import testing
from tidegate.data_directory import DataDirectory


def test_a_broker_that_lost_its_catalogue_serves_its_topics_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with testing.broker(data_dir=data, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        assert run("produce", "kept", "one", "two", *where).code == 0
    (data / "catalogue.sqlite").unlink()
    with pytest.raises(Exception, match="catalogue rebuild"), testing.broker(data_dir=data, timeout_s=60):
        pass
    ended = run("catalogue", "rebuild", "--data-dir", str(data))
    assert ended.code == 0
    assert "made anew from its second copy" in ended.out
    with testing.broker(data_dir=data, timeout_s=60) as broker:
        assert run("consume", "kept", "--exit", "-b", broker.bootstrap, "--timeout", "60").out == "one\ntwo\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Of a topic that nobody knows."""
    folder = tmp_path / "data" / "topics" / ("ab" * 16) / "0"
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(b"")
    return tmp_path / "data"


def test_a_running_broker_is_left_alone(data: Path) -> None:
    with DataDirectory(data):
        ended = run("catalogue", "rebuild", "--data-dir", str(data))
    assert ended.code == 1
    assert "in use by another broker" in ended.err


def test_what_is_no_data_directory_is_left_alone(tmp_path: Path) -> None:
    ended = run("catalogue", "rebuild", "--data-dir", str(tmp_path / "none"))
    assert ended.code == 4
    assert not (tmp_path / "none").exists()


def test_a_topic_that_nothing_tells_needs_a_name(data: Path) -> None:
    ended = run("catalogue", "rebuild", "--data-dir", str(data))
    assert ended.code == 1
    assert f"known to nobody: {'ab' * 16}; name them with --name" in ended.err
    ended = run("catalogue", "rebuild", "--data-dir", str(data), "--name", f"{'ab' * 16}=orders", "-o", "json")
    assert ended.data["adopted"] == ["orders"]
    assert Path(copy_path(str(data))).exists()


def test_a_name_needs_an_id(data: Path) -> None:
    assert run("catalogue", "rebuild", "--data-dir", str(data), "--name", "orders").code == 2
