"""What may be done, in the bits that Kafka's clients read."""

import pytest

from wire.kafka.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS

# By Kafka's AclOperation: 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action,
# 10 describe configs, 11 alter configs, 12 idempotent write.
TOPIC = {3, 4, 5, 6, 7, 8, 10, 11}
CLUSTER = {5, 7, 8, 9, 10, 11, 12}


@pytest.mark.parametrize(("bits", "operations"), [(TOPIC_OPERATIONS, TOPIC), (CLUSTER_OPERATIONS, CLUSTER)])
def test_a_bit_stands_for_an_operation(bits: int, operations: set[int]) -> None:
    assert {number for number in range(32) if bits >> number & 1} == operations


def test_who_did_not_ask_gets_the_least_number() -> None:
    assert NOT_ASKED == -(2**31)
