"""The quotas in force on this node: what the catalogue says of them, and what was used.

Every node counts for itself, as in Kafka: a bound is one of each node. Where there is no quota nothing is counted.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from coordinators.access.quotas.entities import CLIENT_ID, IP, USER, Entity, Filter, address_of
from coordinators.access.quotas.keys import (
    ALL_KEYS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    check_key,
)
from coordinators.access.quotas.meters import Bounded, Meter, MutationMeter, find_address_bound
from coordinators.access.quotas.rates import QuotaWindow
from coordinators.cluster.news import News, read_whole
from coordinators.topic_view import Plan, PlanBuilder
from engine.catalogue.catalogue import Catalogue, Commit, Compare, Delete, Entry, Put
from engine.catalogue.records import QUOTAS, decode_configs, encode
from engine.clock import Clock
from engine.errors import BrokerError, InvalidRequest

PERCENT = 100.0
Values = Mapping[str, float]


@frozen
class QuotaAlteration:
    """What is to become of one key; a value of None removes it."""

    key: str
    value: float | None


class Quotas:
    """See the module."""

    def __init__(self, clock: Clock, window: QuotaWindow | None = None) -> None:
        window = window or QuotaWindow()
        self.window = window
        self.produced = Meter(clock, window)
        self.consumed = Meter(clock, window)
        # Nobody is kept waiting for longer than a sample for the time that its requests took, as in Kafka.
        self.requests = Meter(clock, window, longest_wait_s=window.sample_s)
        self.mutations = MutationMeter(clock, window)
        self.connections = Meter(clock, window, find_address_bound)
        self.is_metering = False
        """Whether anything is bounded that a request may use."""
        self._values: dict[Entity, dict[str, float]] = {}
        self._revisions: dict[Entity, int] = {}

    @property
    def meters(self) -> dict[str, Meter]:
        """By the key that bounds what they count."""
        return {
            PRODUCER_BYTE_RATE: self.produced,
            CONSUMER_BYTE_RATE: self.consumed,
            REQUEST_PERCENTAGE: self.requests,
            CONTROLLER_MUTATION_RATE: self.mutations,
            CONNECTION_CREATION_RATE: self.connections,
        }

    # -- what is in force

    def values(self, entity: Entity) -> Values:
        """What an entity was given."""
        return self._values.get(entity, {})

    def describe(self, wanted: Filter) -> Iterator[tuple[Entity, Values]]:
        """Those asked for, in the order of their names."""
        for entity in sorted(self._values, key=lambda each: each.key):
            if wanted.fits(entity):
                yield entity, self._values[entity]

    def __len__(self) -> int:
        return len(self._values)

    # -- changes

    def plan(
        self, wanted: Sequence[tuple[Sequence[tuple[str, str | None]], Sequence[QuotaAlteration]]]
    ) -> Plan[Entity]:
        """What changes the quotas of each entity; one that cannot be changed so leaves the others alone."""
        planned: PlanBuilder[Entity] = PlanBuilder()
        seen: set[Entity] = set()
        for parts, alterations in wanted:
            try:
                entity = Entity.of(parts)
                if entity in seen:
                    raise InvalidRequest(f"{entity} is named twice in the request")
                seen.add(entity)
                planned.add(entity, self._altered(entity, alterations))
            except BrokerError as error:
                planned.refuse(error)
        return planned.finish()

    def _altered(self, entity: Entity, alterations: Sequence[QuotaAlteration]) -> Commit:
        values, altered = dict(self.values(entity)), set[str]()
        for each in alterations:
            key = check_key(entity, each.key)
            if key.name in altered:
                raise InvalidRequest(f"Duplicate quota key {key.name} for {entity}")
            altered.add(key.name)
            if each.value is None:
                values.pop(key.name, None)
            else:
                key.check(each.value)
                values[key.name] = each.value
        if values == self.values(entity):
            return Commit()
        change = Put(entity.key, encode(values)) if values else Delete(entity.key)
        return Commit((Compare(entity.key, self._revisions.get(entity, 0)),), (change,))

    # -- following the catalogue

    def load(self, catalogue: Catalogue) -> None:
        """[thread] As they are now; later rows come with the news, some of them again."""
        self.take(read_whole(*catalogue.entries(QUOTAS)))

    def take(self, news: News) -> None:
        """What a revision of the catalogue changed."""
        rows = [(key, *row) for key, row in news.others.items() if key.startswith(QUOTAS)]
        for key, value, revision in rows:
            entity = Entity.from_key(key)
            if value is None:
                self._values.pop(entity, None)
                self._revisions.pop(entity, None)
            else:
                values = decode_configs(Entry(key, value, revision))
                # What a later version has added is not obeyed here.
                self._values[entity] = {name: float(bound) for name, bound in values.items() if name in ALL_KEYS}
                self._revisions[entity] = revision
        if rows:
            self._bind()

    def row_keys(self) -> Iterator[str]:
        """The rows that are known."""
        return (entity.key for entity in self._values)

    def _bind(self) -> None:
        for key, meter in self.meters.items():
            meter.bind({_bounded(entity): values[key] for entity, values in self._values.items() if key in values})
        self.is_metering = any(meter.is_on for meter in (self.produced, self.consumed, self.requests, self.mutations))


def _bounded(entity: Entity) -> Bounded:
    names = entity.names
    if IP in names:
        name = names[IP]
        return "", None if name is None else address_of(name)
    return names.get(USER, ""), names.get(CLIENT_ID, "")
