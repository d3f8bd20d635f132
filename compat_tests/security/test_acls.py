"""Every API asked by those who may and those who may not: the rules, requests and answers are Apache Kafka's."""

import pytest

from compat_tests.brokers import target
from compat_tests.security.acl_answers import ANSWERS, NOT_REFUSED, OURS, REFUSALS
from compat_tests.security.acl_rows import At, Row
from compat_tests.security.acl_script import ROWS, Answer, answers, prepare
from compat_tests.security.secured import Secured
from wire.kafka.apis import registered

FREE = {"api_versions", "sasl_handshake", "sasl_authenticate"}
"""Nobody needs a right to these."""
NODES_ONLY = {"broker_heartbeat", "envelope", "fetch_snapshot"}
"""Kafka has them on listeners of its controllers alone."""


@pytest.fixture(scope="module")
def places(secured_broker: Secured) -> dict[str, At]:
    """The names of each row, once everything is there."""
    return prepare(secured_broker.open)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_who_may(secured_broker: Secured, places: dict[str, At], row: Row) -> None:
    found = answers(secured_broker.sasl, row, places[row.name])
    wanted = OURS[row.name][0] if target() == "tidegate" and row.name in OURS else ANSWERS[row.name]
    for who, answer, expected in zip(("stranger", "near", "right"), found, wanted, strict=True):
        if expected == NOT_REFUSED:
            assert not REFUSALS & set(answer.codes), (who, answer)
        else:
            assert plain(answer) == expected, who


def plain(answer: Answer) -> object:
    """An answer as the table has it."""
    return answer.codes if answer.shown is None else (answer.codes, answer.shown)


def test_every_api_has_a_row() -> None:
    served = {api.name for api in registered().values()}
    assert served - FREE - NODES_ONLY <= {row.api for row in ROWS}
    assert {row.name for row in ROWS} == ANSWERS.keys()
    assert OURS.keys() <= ANSWERS.keys()
