"""Records of `__transaction_state`: what is written is read, and what Kafka wrote too."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.record_fields import UnknownFormat
from coordinators.transaction.formats import decode_key, decode_value, record, tombstone
from coordinators.transaction.transaction import Transaction, TransactionState

ids = st.integers(-1, 2**63 - 1)
epochs = st.integers(-1, 2**15 - 1)
places = st.frozensets(st.tuples(st.text(max_size=8), st.integers(0, 2**31 - 1)), max_size=6)
transactions = st.builds(
    Transaction,
    transactional_id=st.text(min_size=1, max_size=20),
    producer_id=ids,
    epoch=epochs,
    timeout_ms=st.integers(0, 2**31 - 1),
    state=st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
    partitions=places,
    started_ms=ids,
    updated_ms=ids,
    last_epoch=epochs,
    previous_producer_id=ids,
    next_producer_id=ids,
    version=st.sampled_from([0, 1, 2]),
)


@given(transactions)
def test_what_is_written_is_read(transaction: Transaction) -> None:
    key, value = record(transaction)
    assert value is not None
    assert decode_key(key) == transaction.transactional_id
    assert decode_value(transaction.transactional_id, value) == transaction


def test_the_first_version_of_values_is_read() -> None:
    value = struct.pack(">hqhib", 0, 5, 2, 60_000, 1) + struct.pack(">i", 1) + b"\0\1t" + struct.pack(">iii", 2, 0, 3)
    value += struct.pack(">qq", 11, 22)
    found = decode_value("a", value)
    assert found == Transaction("a", 5, 2, 60_000, TransactionState.ONGOING, frozenset({("t", 0), ("t", 3)}), 22, 11)


def test_an_empty_one_has_no_partitions() -> None:
    value = record(Transaction("a", 5, 2, 60_000, TransactionState.EMPTY)).value
    assert value is not None
    assert value[17:18] == b"\0"
    assert decode_value("a", value).partitions == frozenset()


def test_a_tombstone_has_the_same_key() -> None:
    assert tombstone("a") == (record(Transaction("a", 5, 2, 60_000, TransactionState.EMPTY)).key, None)


def test_later_formats_are_not_guessed() -> None:
    assert decode_key(b"\0\1\0\1a") is None
    with pytest.raises(UnknownFormat):
        decode_value("a", b"\0\2" + bytes(40))
