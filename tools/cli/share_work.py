"""`tidegate consume --share`: work from a share group; each record is settled by a fixed rule, or by a program.

A program (`--exec`) is started for each record, without a shell: it gets the value on its standard input and the rest
in variables (`TIDEGATE_TOPIC`, ...). Its exit status decides: 0 accepts the record, 75 (EX_TEMPFAIL, as mail systems
have it) gives it back to be tried again, anything else rejects it. The lock is renewed for as long as it runs.

By the rule `renew` records are printed and kept in hand: their locks are renewed until the command ends, by silence or
by Ctrl-C, and then they are given back. Meanwhile nobody else works on them.
"""

import asyncio
import os
import shlex
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from attrs import define, field

from tools.cli.errors import CannotReach, Refused, UsageMistake
from tools.cli.formats import Record
from tools.cli.kafka import ssl_context
from tools.cli.profiles import Profile

TRY_AGAIN = 75
MOST_KEPT = 1000
"""Records that are kept in hand at a time."""


class Settling(StrEnum):
    """What becomes of each record."""

    ACCEPT = "accept"
    RELEASE = "release"
    REJECT = "reject"
    RENEW = "renew"
    """It is kept in hand, and given back at the end."""


@define(eq=False)
class ShareWork:
    """What is worked on, and how."""

    profile: Profile
    topics: Sequence[str]
    group: str
    settling: Settling
    command: str | None
    at_once: int
    write: Callable[[Record], None]
    count: int | None = None
    idle_s: float | None = None
    delay_s: float | None = None
    """How long what is given back waits; None: as the group's keys say."""
    handled: dict[str, int] = field(factory=dict, init=False)
    """How many records there were, by what became of them."""
    _left: int = field(init=False)
    _kept: list[Any] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._left = self.count if self.count is not None else -1

    async def work(self) -> None:
        """Until it has had `count` records, or `idle_s` have passed in silence."""
        from tidegate.work import WorkError, worker

        keeps = self.settling is Settling.RENEW and self.command is None
        at_once = self.at_once if self.count is None else min(self.at_once, self.count)
        if keeps:
            at_once = MOST_KEPT if self.count is None else min(self.count, MOST_KEPT)
        jobs = worker(
            *self.topics,
            group=self.group,
            bootstrap=self.profile.bootstrap,
            max_in_flight=at_once,
            tls=self._tls(),
            credentials=self._credentials(),
        )
        try:
            async with jobs, asyncio.TaskGroup() as tasks:
                for _ in range(1 if keeps else at_once):
                    tasks.create_task(self._one_after_the_other(jobs))
        except BaseExceptionGroup as errors:
            error = _first(errors)
            if isinstance(error, WorkError):
                raise Refused(f"share group {self.group!r}: {error}") from None
            if isinstance(error, OSError):
                raise CannotReach(f"{self.profile.bootstrap} does not answer: {error}") from None
            raise error from None

    async def _one_after_the_other(self, jobs: Any) -> None:
        while self._left != 0 or self._kept:
            self._left -= 1
            try:
                job = await asyncio.wait_for(anext(jobs), self.idle_s)
            except (TimeoutError, StopAsyncIteration):
                break
            await self._settle(job, await self._handled(job))
        for job in self._kept:
            await self._settle(job, Settling.RELEASE)
        jobs.stop()

    async def _handled(self, job: Any) -> Settling:
        if self.command is None:
            headers = tuple(job.headers)
            record = Record(job.topic, job.partition, job.offset, job.timestamp_ms, job.key, job.value, headers)
            self.write(record)
            return self.settling
        status = await self._program(job)
        if status == 0:
            return Settling.ACCEPT
        return Settling.RELEASE if status == TRY_AGAIN else Settling.REJECT

    async def _program(self, job: Any) -> int:
        assert self.command is not None
        arguments = shlex.split(self.command)
        told = {
            "TIDEGATE_TOPIC": job.topic,
            "TIDEGATE_PARTITION": str(job.partition),
            "TIDEGATE_OFFSET": str(job.offset),
            "TIDEGATE_TIMESTAMP_MS": str(job.timestamp_ms),
            "TIDEGATE_DELIVERY_COUNT": str(job.delivery_count),
            "TIDEGATE_GROUP": self.group,
        }
        if job.key is not None and b"\0" not in job.key:
            told["TIDEGATE_KEY"] = job.key.decode("utf-8", "surrogateescape")
        try:
            program = await asyncio.create_subprocess_exec(
                *arguments, stdin=asyncio.subprocess.PIPE, env={**os.environ, **told}
            )
        except OSError as error:
            raise UsageMistake(f"--exec: {arguments[0]} cannot be run: {error.strerror or error}") from None
        try:
            await program.communicate(job.value or b"")
        except asyncio.CancelledError:
            program.terminate()
            await program.wait()
            raise
        return program.returncode or 0

    async def _settle(self, job: Any, settling: Settling) -> None:
        from tidegate.work import JobLost

        if settling is Settling.RENEW:
            self._kept.append(job)
            return
        try:
            if settling is Settling.RELEASE:
                await job.release(self.delay_s)
            else:
                await (job.ack() if settling is Settling.ACCEPT else job.reject())
        except JobLost:
            self._note("lost")
        else:
            self._note(settling.value)

    def _note(self, what: str) -> None:
        self.handled[what] = self.handled.get(what, 0) + 1

    def _tls(self) -> Any:
        return ssl_context(self.profile) if self.profile.security_protocol.endswith("SSL") else None

    def _credentials(self) -> Any:
        profile = self.profile
        if not profile.security_protocol.startswith("SASL_"):
            return None
        from tidegate.work import Credentials

        name, password = profile.sasl_username or "", profile.sasl_password or ""
        return Credentials(profile.sasl_mechanism, name, password, profile.sasl_token)


def _first(errors: BaseExceptionGroup[Any]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
