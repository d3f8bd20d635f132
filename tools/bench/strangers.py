"""Whether those who try to get in are felt by those who are in: the p99 of a producer over TLS with a password, alone
and beside such a crowd.

    python -m tools.bench.strangers handshakes                   # 500 connections a second: TLS, SCRAM, a request
    python -m tools.bench.strangers passwords --rate 2000        # wrong passwords by the thousand
    python -m tools.bench.strangers certificates --rate 50       # the broker's certificate is another every second

Rounds of all are taken in turn. The crowd has processes of its own, which stand back behind everybody else's (`nice`):
elsewhere it would come from other machines, and have no part in the broker's processors. What it takes all the same it
takes wherever it goes: so there is a control, the same crowd at another broker of the machine, and what is more than
that is this broker's doing, or the system's, which lets who does more wait longer for a processor: `starved` is how
long the broker's loop waited for one, for each second that it had one. Far above 0.1 the machine is too busy to tell;
`passes.py` tells then. `reached_per_s` is what the crowd came to, which a small machine bounds. Ends with status 1
if the p99 is more than half above that of the control, or if anybody was refused who should not be, or let in. It ends
by itself.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewTopic

from tidegate import testing
from tidegate.dev_certificates import Authority
from tools.bench.crowd import Crowd, Told
from tools.bench.paced import PacedProducer
from tools.bench.processes import scheduled_s, stand_back
from tools.bench.tenants import free_ports

MODULE = "tools.bench.strangers"
KINDS = ("handshakes", "passwords", "certificates")
USER, PASSWORD, WRONG = "alice", "open sesame", "guess"
ITERATIONS = 4096
TOPIC, PARTITIONS, VALUE_BYTES = "orders", 3, 1_000
MOST_RATIO = 1.5
SETTLE_S = 1.0
ROTATION_S = 1.0


@frozen
class Place:
    """A broker that strangers know."""

    running: testing.RunningBroker
    address: str
    authority: Authority
    keystore: Path
    trusted: Path

    def settings(self) -> dict[str, object]:
        """Of a client that is let in."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.trusted),
        }

    def exchange(self) -> None:
        """Another certificate from now on."""
        write_certificate(self.authority, self.keystore)
        os.kill(self.running.pid, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--records", type=int, default=200, help="of the producer, in a second")
    parser.add_argument("--rate", type=int, default=500, help="of the crowd, connections in a second")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the crowd")
    parser.add_argument("--crowd", nargs=2, metavar=("ADDRESS", "CA"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.crowd:
        password = WRONG if given.kind == "passwords" else PASSWORD
        address, trusted = given.crowd
        stand_back()
        strangers = Crowd(address, trusted, USER, password, given.rate)
        print(json.dumps(strangers.run(given.seconds)), flush=True)
        return 0
    found = measure(given.kind, given.rounds, given.seconds, given.records, given.rate, given.jobs)
    print(json.dumps(found, indent=1))
    return 0 if found["ratio"] <= MOST_RATIO and not found["wrong"] else 1


def measure(kind: str, rounds: int, seconds: float, records: int, rate: int, jobs: int) -> dict[str, float]:
    """All three, in turn; p99s in milliseconds."""
    alone: list[float] = []
    control: list[float] = []
    beside: list[float] = []
    came: list[Told] = []
    had_s = waited_s = 0.0
    with (
        TemporaryDirectory() as scratch,
        _place(Path(scratch), "here") as here,
        _place(Path(scratch), "there") as there,
    ):
        for _ in range(rounds):
            alone.append(_p99(here, records, seconds))
            for place, found in ((there, control), (here, beside)):
                whole_s = seconds + 2 * SETTLE_S
                with (
                    crowd(kind, place.address, place.trusted, whole_s, rate, jobs) as told,
                    _rotating(kind, place),
                ):
                    time.sleep(SETTLE_S)
                    before = scheduled_s(here.running.pid)
                    found.append(_p99(here, records, seconds))
                    after = scheduled_s(here.running.pid)
                if place is here:
                    had_s, waited_s = had_s + after[0] - before[0], waited_s + after[1] - before[1]
                came += told
    return {
        "alone_p99_ms": round(statistics.median(alone), 2),
        "beside_p99_ms": round(statistics.median(beside), 2),
        "control_p99_ms": round(statistics.median(control), 2),
        "ratio": round(statistics.median(beside) / statistics.median(control), 2),
        "ratio_to_alone": round(statistics.median(beside) / statistics.median(alone), 2),
        "starved": round(waited_s / had_s, 2),
        "reached_per_s": round(jobs * statistics.median(each["reached_per_s"] for each in came)),
        "certificates": max(each["certificates"] for each in came),
        "wrong": sum(each["let_in"] if kind == "passwords" else each["refused"] for each in came)
        + sum(each["broken"] for each in came),
        "rounds": rounds,
    }


def _p99(place: Place, records: int, seconds: float) -> float:
    producer = PacedProducer(place.address, TOPIC, PARTITIONS, place.settings())
    producer.run(records, seconds, size=VALUE_BYTES)
    # What comes before the connections are there is not what is asked about.
    return statistics.quantiles(producer.latencies_ms[int(records * seconds) // 5 :], n=100)[98]


@contextmanager
def _place(scratch: Path, name: str) -> Iterator[Place]:
    """A broker with a certificate, a user and a topic."""
    authority, keystore, trusted = Authority.make(), scratch / f"{name}.pem", scratch / f"{name}-ca.pem"
    trusted.write_bytes(authority.identity.certificate_pem)
    write_certificate(authority, keystore)
    inside, outside = (f"127.0.0.1:{port}" for port in free_ports(2))
    with testing.broker(settings_of(inside, outside, keystore), timeout_s=60) as running:
        furnish(inside)
        yield Place(running, outside, authority, keystore, trusted)


def settings_of(inside: str, outside: str, keystore: Path) -> dict[str, str]:
    """A broker that asks nobody at one address, and everybody at the other."""
    return {
        "listeners": f"IN://{inside},OUT://{outside}",
        "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "ssl.keystore.location": str(keystore),
    }


def furnish(inside: str) -> None:
    """The user and the topic."""
    admin = AdminClient({"bootstrap.servers": inside})
    kept = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, ITERATIONS)
    made = admin.alter_user_scram_credentials([UserScramCredentialUpsertion(USER, kept, PASSWORD.encode())])
    made[USER].result()
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def write_certificate(authority: Authority, keystore: Path) -> None:
    """A new one, whole, in the place of the last."""
    new = keystore.with_suffix(".new")
    new.write_bytes(authority.broker(["127.0.0.1", "localhost"]).pem)
    new.replace(keystore)


@contextmanager
def crowd(kind: str, address: str, trusted: Path, seconds: float, rate: int, jobs: int) -> Iterator[list[Told]]:
    """The crowd, until it has had its time; what it tells is in the list then."""
    command = [sys.executable, "-m", MODULE, kind, "--crowd", address, str(trusted)]
    command += ["--rate", str(max(rate // jobs, 1)), "--seconds", str(seconds)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(jobs)]
    told: list[Told] = []
    try:
        yield told
        told += [json.loads(each.communicate(timeout=seconds + 60)[0]) for each in running]
    finally:
        for each in running:
            each.kill()
            each.wait()


@contextmanager
def _rotating(kind: str, place: Place) -> Iterator[None]:
    """Exchange certificates meanwhile, where that is asked about."""
    is_over = threading.Event()

    def rotate() -> None:
        while not is_over.wait(ROTATION_S):
            place.exchange()

    thread = threading.Thread(target=rotate)
    if kind == "certificates":
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.is_alive():
            thread.join()


if __name__ == "__main__":
    sys.exit(main())
