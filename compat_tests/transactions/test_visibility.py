"""Transactions of each client, as each client sees them."""

from collections.abc import Callable

import pytest

from compat_tests.transactions.readers import END, READERS
from compat_tests.transactions.writers import WRITERS

TRANSACTIONS = [
    (["a1", "a2"], True),
    (["lost1", "lost2", "lost3"], False),
    (["b1"], True),
    (["lost4"], False),
    (["lost5"], False),
    (["c1", END], True),
]
COMMITTED = [value for values, commit in TRANSACTIONS for value in values if commit]
EVERYTHING = [value for values, _ in TRANSACTIONS for value in values]


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_client_writes_is_seen_by_all(bootstrap: str, make_topic: Callable[..., str], writer: str) -> None:
    topic = make_topic()
    WRITERS[writer](bootstrap, topic, f"id-{topic}", TRANSACTIONS)
    for name, read in READERS.items():
        assert (name, read(bootstrap, topic, "read_committed")) == (name, COMMITTED)
        assert (name, read(bootstrap, topic, "read_uncommitted")) == (name, EVERYTHING)
