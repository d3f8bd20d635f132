"""kcat -G: the balanced consumer on a librdkafka of 2022."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from compat_tests.clients import CLIENTS, Record
from compat_tests.clients.kcat import kcat
from compat_tests.waiting import eventually


def balanced(bootstrap: str, group: str, topic: str, count: int) -> bytes:
    """What a balanced consumer reads until it has so many records."""
    options = ("-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000")
    return kcat(bootstrap, "-G", group, "-q", "-c", str(count), *options, "-f", r"%s\n", topic)


def test_kcat_goes_on_where_it_stopped(bootstrap: str, make_topic: Callable[..., str], group: str) -> None:
    topic = make_topic()
    CLIENTS["kcat"].produce(bootstrap, topic, [Record(b"%d" % number) for number in range(5)])
    assert balanced(bootstrap, group, topic, 5).split() == [b"0", b"1", b"2", b"3", b"4"]
    CLIENTS["kcat"].produce(bootstrap, topic, [Record(b"5"), Record(b"6")])
    assert balanced(bootstrap, group, topic, 2).split() == [b"5", b"6"]


def test_two_kcats_share_a_topic(bootstrap: str, make_topic: Callable[..., str], group: str, tmp_path: Path) -> None:
    topic = make_topic(partitions=2)
    command = ["kcat", "-b", bootstrap, "-G", group, "-X", "session.timeout.ms=6000", topic]
    outputs = [tmp_path / "one", tmp_path / "two"]
    kcats = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output.open("wb")) for output in outputs]
    try:
        eventually(lambda: sorted(map(_share, outputs)), [f"{topic} [0]", f"{topic} [1]"], seconds=20)
    finally:
        for process in kcats:
            process.kill()
            process.wait()


def _share(output: Path) -> str:
    """The last assignment that kcat has reported."""
    found = re.findall(r"assigned: (.*)", output.read_text())
    return str(found[-1]).strip() if found else ""
