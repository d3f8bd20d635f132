"""Every API in every version: without rights, with others, and with those that it takes."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trio.testing import trio_test

from engine.catalogue.records import AclRecord
from tests.wire.kafka.door import Client
from tests.wire.kafka.guarded import ROOT, Guarded, allow, open_guarded
from tests.wire.kafka.requests import batch, create_topic
from tests.wire.kafka.rights_table import (
    ALONE,
    FREE,
    NAMES,
    OF_NODES,
    SILENT,
    Asked,
    Case,
    Lacking,
)
from wire.kafka.apis import registered
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest

DENIALS = {29, 30, 31, 53}
IMPLYING = {8: {3, 4, 6, 7, 8}, 10: {10, 11}}
OPERATIONS = {2: (3, 4, 5, 6, 7, 8, 10, 11), 3: (3, 6, 8, 10, 11), 4: (5, 7, 8, 9, 10, 11, 12), 5: (4, 8)}


def denials(answer: Any) -> set[int]:
    """The codes of authorisation in an answer, wherever they stand."""
    return set(_codes(msgspec.to_builtins(answer))) & DENIALS


def _codes(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name.endswith("error_code") and name != "topic_config_error_code":
                yield each
            else:
                yield from _codes(each)
    elif isinstance(value, list):
        for each in value:
            yield from _codes(each)


def rules_of(user: str, needs: Iterable[Lacking], name: str | None = None) -> list[AclRecord]:
    names = {**NAMES, 2: "t"}
    return [allow(user, operation, kind, name or names[kind]) for operation, kind, _ in needs]


def wrong_rules(user: str, case: Case) -> list[AclRecord]:
    """Everything that does not help: all other operations on what the case names, and the right ones on what it does
    not."""
    wanted = (*case.needs, *case.instead)
    rules = []
    for kind, operations in OPERATIONS.items():
        helping = {
            each for operation, kind_, _ in wanted if kind_ == kind for each in IMPLYING.get(operation, {operation})
        }
        rules += [allow(user, each, kind, NAMES[kind]) for each in operations if each not in helping]
    rules += [
        allow(user, operation, kind, "other")
        for operation, kind, _ in wanted
        # To be idempotent, to write some topic will do.
        if kind != 4 and not (case.key == 22 and kind == 2)
    ]
    return rules


DELETE_TOPICS = 20


class Table:
    """Asks, and collects what is not as it should be."""

    def __init__(self, guarded: Guarded, root: Client, client: Client, records: bytes, topic_id: bytes) -> None:
        self.guarded = guarded
        self.root = root
        self.client = client
        self.records = records
        self.topic_id = topic_id
        self.complaints: list[str] = []
        self._users = (f"user-{number}" for number in count())

    async def check(self, case: Case, version: int) -> None:
        await self._expect(case, version, "no rights", lambda user: [], {case.needs[0][2]})
        await self._expect(case, version, "wrong rights", lambda user: wrong_rules(user, case), {case.needs[0][2]})
        for number, (_, _, code) in enumerate(case.needs):
            some = [each for place, each in enumerate(case.needs) if place != number]
            if some:
                await self._expect(case, version, f"all but {number}", lambda user: rules_of(user, some), {code})  # noqa: B023
        await self._expect(case, version, "all rights", lambda user: rules_of(user, case.needs), set())
        for other in case.instead:
            needs = (*case.needs[:-1], other)
            await self._expect(case, version, f"instead {other}", lambda user: rules_of(user, needs), set())  # noqa: B023
        denying = [allow("*", operation, kind, NAMES[kind], permission=2) for operation, kind, _ in case.needs[-1:]]
        if not case.instead:
            await self._expect(
                case,
                version,
                "denied though allowed",
                lambda user: [*rules_of(user, case.needs), *denying],
                {case.needs[-1][2]},
            )

    async def _expect(self, case: Case, version: int, what: str, rules: Any, expected: set[int]) -> None:
        user = next(self._users)
        self.guarded.become(await self.guarded.peer(self.client), user)
        made = rules(user)
        self.guarded.rule(*made)
        answer = await self.client.ask(case.request(Asked(version, self.topic_id, self.records)), version)
        self.guarded.unrule(*made)
        if case.key == DELETE_TOPICS and not expected:
            # Of one that there is not, whoever may describe it is told just that.
            self.topic_id = (await create_topic(self.root, "t")).topic_id
        if denials(answer) != expected:
            self.complaints.append(f"{case.key} v{version}, {what}: {denials(answer)}, not {expected}")


@trio_test
async def test_every_api_asks_for_its_rights_and_answers_as_kafka_does(tmp_path: Path) -> None:
    async with open_guarded(tmp_path, {"auto.create.topics.enable": "false"}) as guarded:
        root = await guarded.client(ROOT)
        topic = await create_topic(root, "t")
        for kind in (0, 1):
            await root.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]), 4)
        table = Table(guarded, root, await guarded.client("nobody"), batch(), topic.topic_id)
        for case in ALONE:
            api = registered()[case.key]
            for version in range(max(api.first_version, case.first), min(api.last_version, case.last) + 1):
                await table.check(case, version)
        assert not table.complaints, "\n" + "\n".join(table.complaints)


def test_the_table_has_every_api() -> None:
    told = {case.key for case in ALONE} | set(SILENT) | FREE | OF_NODES
    assert told == set(registered())


@pytest.mark.parametrize("key", sorted(registered()))
def test_what_an_api_declares_is_what_the_table_says(key: int) -> None:
    rights = registered()[key].rights
    declared = {(right.operation.value, right.resource.value) for each in rights.asked for right in each}
    if key in FREE:
        assert not declared
        return
    if key in OF_NODES:
        assert rights.of_nodes
        return
    told = {each[:2] for case in ALONE if case.key == key for each in (*case.needs, *case.instead)}
    assert told <= declared
