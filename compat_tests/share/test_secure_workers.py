"""`tidegate.work` over TLS and with passwords: on both event loops, by every mechanism; refused where it must be."""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from attrs import frozen
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from compat_tests import admin, brokers
from compat_tests.security.certificates import Certificates
from compat_tests.share.asking import prepare_group
from compat_tests.share.conftest import SETTINGS, warm_up
from compat_tests.share.sending import send
from coordinators.access.password_file import PasswordHash, format_users
from tidegate import testing
from tidegate.work import Credentials, JobLost, WorkError, worker
from tools.reference.broker import free_port
from tools.reference.secured import secured_kafka

pytestmark = pytest.mark.timeout(120)
USER, PASSWORD = "admin", "admin-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LIMIT_S = 60.0
LOOPS: dict[str, Callable[[Callable[[], Coroutine[Any, Any, None]]], None]] = {
    "trio": lambda work: trio.run(work),
    "asyncio": lambda work: asyncio.run(work()),
}


@frozen
class SecureBroker:
    """By its open listener and by the other, and who vouches for it."""

    open: str
    secure: str
    authority: Path

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)


@pytest.fixture(scope="module")
def secure() -> Iterator[SecureBroker]:
    with tempfile.TemporaryDirectory(prefix="compat-secure-share-") as name:
        certificates = Certificates(Path(name))
        with _listening(certificates) as (opened, secured):
            warm_up(opened)
            _add_user(opened)
            yield SecureBroker(opened, secured, certificates.authority)


@contextmanager
def _listening(certificates: Certificates) -> Iterator[tuple[str, str]]:
    if brokers.target() == "kafka":
        with secured_kafka(certificates.files, {USER: PASSWORD}, settings=SETTINGS) as (_, at):
            yield at["OPEN"], at["SECURE"]
        return
    ports, users = (free_port(), free_port()), certificates.folder / "users"
    users.write_text(format_users({USER: PasswordHash.of(PASSWORD, os.urandom)}))
    settings = {
        **SETTINGS,
        "listeners": f"OPEN://127.0.0.1:{ports[0]},SECURE://127.0.0.1:{ports[1]}",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,SECURE:SASL_SSL",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.plain.users.location": str(users),
        "ssl.keystore.location": str(certificates.server),
        "authorizer.enable": "true",
        "super.users": f"User:ANONYMOUS;User:{USER}",
    }
    with testing.broker(settings, timeout_s=60):
        yield f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}"


def _add_user(bootstrap: str) -> None:
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        wanted = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
        for done in client.alter_user_scram_credentials([wanted]).values():
            done.result(LIMIT_S)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_jobs_are_worked_on_by_whoever_has_logged_in(secure: SecureBroker, loop: str, mechanism: str) -> None:
    topic = group = f"{mechanism}-{loop}".lower()
    admin.create_topic(secure.open, topic, 2)
    prepare_group(secure.open, group)
    values = [f"{partition}-{number}" for partition in (0, 1) for number in range(20)]
    for partition in (0, 1):
        send(secure.open, topic, [each for each in values if each.startswith(f"{partition}-")], partition=partition)
    given: list[str] = []

    async def work() -> None:
        who = Credentials(mechanism, USER, PASSWORD)
        async with worker(topic, group=group, bootstrap=secure.secure, tls=secure.tls, credentials=who) as jobs:
            async for job in jobs:
                given.append((job.value or b"").decode())
                if given[-1] == "0-0" and job.delivery_count == 1:
                    await job.release()
                else:
                    await job.ack()
                if len(given) > len(values):
                    return

    LOOPS[loop](work)
    assert sorted(given) == sorted([*values, "0-0"])


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_told(secure: SecureBroker, loop: str, mechanism: str) -> None:
    async def work() -> None:
        who = Credentials(mechanism, USER, "wrong")
        async with worker("any", group="any", bootstrap=secure.secure, tls=secure.tls, credentials=who) as jobs:
            async for _ in jobs:
                raise AssertionError("nobody was let in")

    with pytest.raises(WorkError) as refused:
        LOOPS[loop](work)
    assert not isinstance(refused.value, JobLost)
