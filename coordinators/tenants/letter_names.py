"""Where a dead letter comes from, as those call it who read it.

What lies in a record cannot be translated on its way to a reader. So letters of a tenant whose names are rewritten hold
them as its clients say them, and the tenant besides: by that an operator knows whose they are. A group from outside of
the namespace is not named: the tenant would learn of it.
"""

from coordinators.tenants.tenants import Tenants

TOPIC, GROUP, TENANT = b"__dlq.errors.topic", b"__dlq.errors.group", b"__dlq.errors.tenant"


def origin_headers(tenants: Tenants, topic: str, group: str | None = None) -> list[tuple[bytes, bytes]]:
    """The headers that name the topic and, if it was one's, the group."""
    owner = tenants.owner(topic)
    if owner is None:
        return [(TOPIC, topic.encode()), *([(GROUP, group.encode())] if group is not None else [])]
    cut = len(owner.prefix) if owner.rewrite else 0
    told = [(TOPIC, topic[cut:].encode())]
    if group is not None and group.startswith(owner.prefix):
        told.append((GROUP, group[cut:].encode()))
    if owner.rewrite:
        told.append((TENANT, owner.name.encode()))
    return told
