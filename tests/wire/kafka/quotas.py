"""Setting and reading quotas over the wire, for the tests of what they do."""

from typing import Any

from tests.wire.kafka.door import Client
from wire.kafka.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from wire.kafka.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

Parts = dict[str, str | None]


def alteration(parts: Parts, values: dict[str, float | None]) -> RequestEntryData:
    """A value of None removes its key."""
    return RequestEntryData(
        [RequestEntityData(kind, name) for kind, name in parts.items()],
        [OpData(key, 0.0 if value is None else value, value is None) for key, value in values.items()],
    )


async def altered(client: Client, parts: Parts, values: dict[str, float | None], **options: Any) -> Any:
    """The answer about one entity."""
    answer = await client.ask(AlterClientQuotasRequest([alteration(parts, values)], **options))
    (entry,) = answer.entries
    return entry


async def bind(client: Client, parts: Parts, **values: float | None) -> None:
    """Set quotas, which must succeed."""
    entry = await altered(client, parts, values)
    assert entry.error_code == 0, entry.error_message


async def described(client: Client, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    wanted = [ComponentData(*each) for each in components]
    return await client.ask(DescribeClientQuotasRequest(wanted, strict))


async def quotas(client: Client, *components: tuple[str, int, str | None], strict: bool = False) -> list[Any]:
    """Entities as pairs and their values, of those that a filter fits."""
    answer = await described(client, *components, strict=strict)
    assert answer.error_code == 0, answer.error_message
    return [
        ({part.entity_type: part.entity_name for part in entry.entity}, {each.key: each.value for each in entry.values})
        for entry in answer.entries
    ]
