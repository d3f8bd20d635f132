"""The unit of systemd: it is right, and it shuts the service in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tidegate.config import BrokerConfig

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "systemd" / "tidegate.service"
EXAMPLE = UNIT.with_suffix(".toml")
EXPOSURE_MAX = 2.0
"""Of ten, as systemd counts; a service without any of it has 9.6."""


@pytest.fixture
def analyze() -> str:
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("systemd is not here")
    return found


def test_systemd_finds_nothing_wrong_with_it(analyze: str, tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text(), flags=re.MULTILINE))
    done = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


def test_it_may_do_little_beyond_serving(analyze: str) -> None:
    done = subprocess.run(
        [analyze, "security", "--offline=yes", "--no-pager", UNIT], capture_output=True, text=True, check=False
    )
    told = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert told is not None, done.stderr
    assert float(told[1]) <= EXPOSURE_MAX


def test_settings_that_must_change_are_not_tried_again() -> None:
    assert "RestartPreventExitStatus=2" in UNIT.read_text()


def test_the_example_of_settings_is_for_this_machine_alone() -> None:
    (listener,) = BrokerConfig.load(file=EXAMPLE).listeners
    assert (listener.host, listener.port) == ("127.0.0.1", 9092)


def test_its_other_settings_are_keys_of_the_broker(tmp_path: Path) -> None:
    text = re.sub(r"^listeners = .*$", "", EXAMPLE.read_text(), count=1, flags=re.MULTILINE)
    other = tmp_path / "tidegate.toml"
    other.write_text(re.sub(r"^# (?=\S+ = )", "", text, flags=re.MULTILINE))
    (listener,) = BrokerConfig.load(file=other).advertised_listeners
    assert (listener.host, listener.port) == ("kafka.example", 9092)
