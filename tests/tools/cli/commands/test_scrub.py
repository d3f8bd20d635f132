"""Whether what a broker has on disk is sound, from the command line."""

from pathlib import Path

from tests.tools.cli.conftest import run
from tidegate import testing


def test_damage_is_named_and_is_status_1(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with testing.broker({"log.scrub.enable": "false"}, data_dir=data, timeout_s=60) as broker:
        where = ("-b", broker.bootstrap, "--timeout", "60")
        assert run("produce", "kept", "turn me over", *where).code == 0
        sound = run("scrub", "--start", "--wait", *where)
        assert sound.code == 0
        assert "nothing is known to be damaged" in sound.err
        (path,) = [each for each in data.glob("topics/*/0/*.log") if b"turn me over" in each.read_bytes()]
        content = bytearray(path.read_bytes())
        content[-10] ^= 1
        path.write_bytes(content)
        damaged = run("scrub", "--start", "--wait", "-o", "json", *where)
        assert damaged.code == 1
        (found,) = damaged.data["damages"]["items"]
        assert (found["topic"], found["partition"], found["offset"], found["file"]) == ("kept", 0, 0, str(path))
        assert "the checksum of this batch does not hold" in run("scrub", *where).out
        status = run("status", *where)
        assert status.code == 1
        assert "1 damaged places on disk" in status.out
