"""Every way in, every way out."""

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from compat_tests.brokers import target
from compat_tests.doors.faces import READERS, WRITERS, Item
from tidegate import testing
from tidegate.testing import RunningBroker

pytestmark = pytest.mark.skipif(target() != "tidegate", reason="Kafka has no other doors")

ANY = bytes(range(256))
ITEMS = (
    Item(b"key", b"value"),
    Item(None, b"no key"),
    Item(b"tombstone", None),
    Item(b"", b""),
    Item(ANY, ANY * 8, (("any bytes", ANY), ("twice", b"1"), ("twice", b"2"))),
    Item("schlüssel".encode(), b"\r\nOK 0\r\nPUB x 5\r\n", (("grüße", b"%20 = \r\n"),)),
)


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with testing.broker({"text.port": "-1", "grpc.port": "-1"}, timeout_s=60) as running:
        yield running


@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_written_by_a_door_is_read_by_every_other(broker: RunningBroker, writer: str) -> None:
    topic = f"plain-{writer}"
    for item in ITEMS:
        WRITERS[writer].write(broker, topic, item)
    for reader in READERS:
        assert READERS[reader].read(broker, topic, len(ITEMS)) == list(ITEMS), f"{writer} to {reader}"


@pytest.mark.parametrize("writer", WRITERS)
def test_a_delay_is_kept_whichever_door_asks_for_it(broker: RunningBroker, writer: str) -> None:
    topic = f"delayed-{writer}"
    WRITERS[writer].write(broker, topic, Item(None, b"later", asks=(("tide-delay", b"300"),)))
    WRITERS[writer].write(broker, topic, Item(None, b"now"))
    for reader in READERS:
        assert [item.value for item in READERS[reader].read(broker, topic, 2)] == [b"now", b"later"], reader


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("writer", WRITERS)
def test_the_urgent_comes_first_whichever_doors_are_used(broker: RunningBroker, writer: str, reader: str) -> None:
    topic = f"urgent-{writer}-{reader}"
    for lane in (b"background", b"normal", b"critical"):
        WRITERS[writer].write(broker, topic, Item(None, lane, asks=(("tide-priority", lane),)))
    found = [item.value for item in READERS[reader].read(broker, topic, 3)]
    assert found == [b"critical", b"normal", b"background"]


def test_nc_is_a_client(broker: RunningBroker) -> None:
    nc = shutil.which("nc")
    if nc is None:
        pytest.skip("there is no nc here (make setup installs it; Debian: netcat-openbsd)")
    host, port = broker.text_address.rsplit(":", 1)
    typed = b"PUB nc 5\nhello\nFETCH nc 0\nPING\nQUIT\n"
    said = subprocess.run([nc, host, port], input=typed, capture_output=True, timeout=30, check=True).stdout
    assert said == b"OK 0\r\nMSG 0 5\r\nhello\r\nPONG\r\nBYE\r\n"
