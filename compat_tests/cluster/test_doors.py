"""Records over HTTP, at a node that does not lead their partition, while the one that does is killed: every caller is
answered, and what is acknowledged is there, once, where it was said to be."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable

from compat_tests.cluster.reading import read_all
from tools.chaos.cluster import ChaosCluster

ENOUGH = 20
PATIENCE_S = 60.0
ANSWERED_WITHIN_S = 25.0
"""On a machine that others use. It takes two or three seconds otherwise."""
JSON = "application/vnd.kafka.json.v2+json"


class Caller:
    """Writes one record after the other; notes where it is, and how long the longest answer took."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.acknowledged: dict[int, int] = {}
        """The offset of each."""
        self.refused: list[str] = []
        self.slowest_s = 0.0
        self.stopping = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            began_s = time.monotonic()
            try:
                told = self._send(number)
            except OSError as error:
                self.refused.append(repr(error))
            else:
                if told["offset"] is None:
                    self.refused.append(str(told))
                else:
                    self.acknowledged[number] = told["offset"]
            self.slowest_s = max(self.slowest_s, time.monotonic() - began_s)
            number += 1

    def _send(self, number: int) -> dict[str, int | None]:
        body = json.dumps({"records": [{"value": number}]}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": JSON})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            told: dict[str, int | None] = json.load(answer)["offsets"][0]
            return told


def test_callers_of_a_node_are_answered_though_the_leader_is_killed(
    cluster: ChaosCluster, make_topic: Callable[..., str]
) -> None:
    topic = make_topic(min_insync_replicas=2)
    leader = cluster.standing().leaders[topic, 0]
    other = next(node for node_id, node in cluster.nodes.items() if node_id != leader)
    caller = Caller(f"{other.http_url}/topics/{topic}/partitions/0")
    calling = threading.Thread(target=caller.run)
    calling.start()
    try:
        _wait_for(caller, ENOUGH)
        cluster.nodes[leader].kill()
        _wait_for(caller, len(caller.acknowledged) + ENOUGH)
    finally:
        caller.stopping.set()
        calling.join(PATIENCE_S)
    assert caller.refused == []
    assert caller.slowest_s < ANSWERED_WITHIN_S
    read = read_all(cluster.bootstrap, topic, 1)[0]
    assert {int(value): offset for offset, value in enumerate(read)} == caller.acknowledged
    assert len(read) == len(caller.acknowledged), "something is there twice"


def _wait_for(caller: Caller, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(caller.acknowledged) < count:
        assert time.monotonic() < deadline, f"{len(caller.acknowledged)} of {count}: {caller.refused[-3:]}"
        time.sleep(0.05)
