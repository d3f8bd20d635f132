"""What a config key of a group is: a `ConfigKey`, the broker key that gives it its default, and those that bound it.

Each kind of group declares its own in a table; `coordinators/group_configs.py` puts the tables together.
"""

from attrs import frozen

from engine.config.keys import BrokerSynonym, ConfigKey, Value
from engine.config.resolve import BrokerSettings
from engine.errors import InvalidConfig


@frozen
class GroupKey:
    """One key. The least and the greatest value that a group may choose are set by broker keys, where there are any."""

    key: ConfigKey
    least: str = ""
    greatest: str = ""

    @property
    def name(self) -> str:
        return self.key.name

    def default(self, settings: BrokerSettings) -> Value:
        """What is in force for a group that has chosen nothing."""
        for synonym in self.key.synonyms:
            if synonym.name in settings.keys:
                return settings[synonym.name]
        return self.key.default

    def parse(self, text: str, settings: BrokerSettings) -> Value:
        """The value that a group chooses; `InvalidConfig` says what would be right."""
        value = self.key.parse(text)
        least, greatest = self._bounds(settings)
        if least is not None and isinstance(value, int) and value < least:
            raise InvalidConfig(f"{self.name} must be greater than or equal to {self.least}")
        if greatest is not None and isinstance(value, int) and value > greatest:
            raise InvalidConfig(f"{self.name} must be less than or equal to {self.greatest}")
        return value

    def stored(self, text: str, settings: BrokerSettings) -> Value:
        """The same of a value that was taken once: bounds that were moved since bound it too, as in Kafka."""
        value = self.key.parse(text)
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        least, greatest = self._bounds(settings)
        value = value if least is None else max(value, least)
        return value if greatest is None else min(value, greatest)

    def _bounds(self, settings: BrokerSettings) -> tuple[int | None, int | None]:
        return _bound(self.least, settings), _bound(self.greatest, settings)


def behind(name: str) -> tuple[BrokerSynonym, ...]:
    """The broker key that gives a group key its default."""
    return (BrokerSynonym(name),)


def _bound(name: str, settings: BrokerSettings) -> int | None:
    return settings.integer(name) if name in settings.keys else None
