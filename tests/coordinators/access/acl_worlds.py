"""Rules, names and callers that meet each other often, and an authorizer that looks at every rule: what the real one is
compared with."""

from collections.abc import Sequence

from hypothesis import strategies as st

from coordinators.access.acls import Operation, PatternType, Permission, ResourceKind
from coordinators.access.callers import Caller, Principal
from engine.catalogue.records import AclRecord

NAMES = ("*", "a", "ab", "abc", "b", "User:x", "")
KINDS = (ResourceKind.TOPIC, ResourceKind.GROUP)
USERS = ("x", "y", "*")
HOSTS = ("127.0.0.1", "10.0.0.1")
OPERATIONS = tuple(each for each in Operation if each > Operation.ANY)

acls = st.builds(
    AclRecord,
    st.sampled_from([int(kind) for kind in KINDS]),
    st.sampled_from([name for name in NAMES if name]),
    st.sampled_from([int(PatternType.LITERAL), int(PatternType.PREFIXED)]),
    st.sampled_from([f"User:{name}" for name in USERS]),
    st.sampled_from([*HOSTS, "*"]),
    st.sampled_from([int(each) for each in OPERATIONS]),
    st.sampled_from([int(Permission.DENY), int(Permission.ALLOW)]),
)
callers = st.builds(Caller, st.builds(Principal, st.sampled_from(USERS)), st.sampled_from(HOSTS))


def naively_allowed(
    rules: Sequence[AclRecord],
    supers: frozenset[str],
    if_none: bool,
    asked: tuple[Caller, Operation, ResourceKind, str],
) -> bool:
    """The rule of the module `authorizer`, in its own words and without any index."""
    caller, operation, kind, name = asked
    if f"User:{caller.principal.name}" in supers:
        return True
    touching = []
    for acl in rules:
        if acl.resource_type != int(kind):
            continue
        is_literal = acl.pattern == 3
        if (is_literal and (acl.name == name or acl.name == "*")) or (
            not is_literal and name[: len(acl.name)] == acl.name
        ):
            touching.append(acl)
    for acl in touching:
        if _meets(acl, caller) and acl.permission == 2 and acl.operation in (2, int(operation)):
            return False
    implied = {8: (3, 4, 6, 7), 10: (11,)}.get(int(operation), ())
    for acl in touching:
        if _meets(acl, caller) and acl.permission == 3 and acl.operation in (2, int(operation), *implied):
            return True
    return if_none and not touching


def _meets(acl: AclRecord, caller: Caller) -> bool:
    is_whose = acl.principal == "User:*" or acl.principal == f"User:{caller.principal.name}"
    return is_whose and (acl.host == "*" or acl.host == caller.host)
