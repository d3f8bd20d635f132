"""What can be bounded, of whom, and by which values."""

import math

from attrs import frozen

from coordinators.access.quotas.entities import IP, Entity
from engine.config.keys import INT_MAX, LONG_MAX
from engine.errors import InvalidRequest

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"


@frozen
class QuotaKey:
    """One of them. `most` is given where the value is a whole number."""

    name: str
    meaning: str
    most: int | None = None
    kind: str = ""

    def check(self, value: float) -> None:
        """`InvalidRequest` unless it is a value of this key."""
        if not math.isfinite(value):
            raise InvalidRequest(f"Quota {self.name} must be a finite number")
        if value <= 0:
            raise InvalidRequest(f"Quota {self.name} must be greater than 0")
        if self.most is None:
            return
        if value > self.most:
            raise InvalidRequest(f"Proposed value for {self.name} is too large for a {self.kind}.")
        if abs(math.fmod(value, 1.0)) > 1e-6:
            raise InvalidRequest(f"{self.name} cannot be a fractional value.")


CLIENT_KEYS = {
    key.name: key
    for key in (
        QuotaKey(PRODUCER_BYTE_RATE, "Bytes of Produce requests a second, per node.", LONG_MAX, "LONG"),
        QuotaKey(CONSUMER_BYTE_RATE, "Bytes of records that are fetched a second, per node.", LONG_MAX, "LONG"),
        QuotaKey(REQUEST_PERCENTAGE, "How much of a node's time requests may take, in percent."),
        QuotaKey(CONTROLLER_MUTATION_RATE, "Partitions that are created and deleted a second."),
    )
}
"""Of users and client ids."""
ADDRESS_KEYS = {
    CONNECTION_CREATION_RATE: QuotaKey(
        CONNECTION_CREATION_RATE, "Connections that are accepted a second, per node.", INT_MAX, "INT"
    )
}
"""Of addresses."""
ALL_KEYS = {**CLIENT_KEYS, **ADDRESS_KEYS}


def check_key(entity: Entity, name: str) -> QuotaKey:
    """The key, if it can be set for that entity; else `InvalidRequest`."""
    known = ADDRESS_KEYS if entity.parts[0][0] == IP else CLIENT_KEYS
    key = known.get(name)
    if key is None:
        raise InvalidRequest(f"Invalid configuration key {name}; for {entity} there are: {', '.join(known)}")
    return key
