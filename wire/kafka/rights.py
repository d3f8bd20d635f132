"""What rights an API asks its callers for: data, declared as `RIGHTS` in the file of each API.

    RIGHTS = Rights(Need(READ_GROUP, attrgetter("group_id")), refuse=_refused)

`Need` and `NeedEvery` are asked for the request as a whole; whoever lacks one gets what `refuse` makes. `Each` is asked
for each of the things that a request names: what is denied is taken out before the handler sees it, and answered beside
what the handler answers. `Within` is asked by the handler, or by the use case behind it, through the service
`AccessControl`, which it must name. Several rights in one of these mean that any of them will do. They are asked in the
order of declaration.

Whether a thing exists is not looked up before its right is asked for: who may not know is told the same either way. A
thing that a request names by an id that nobody has is passed on, for the handler to say so.

A broker without an authorizer calls the handlers as they are. Nodes of the cluster are asked for nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec
from attrs import field, frozen

from coordinators.access.access import AccessControl, Right
from coordinators.access.acls import CLUSTER_NAME, ResourceKind
from coordinators.access.callers import Caller
from coordinators.access.rights import (
    ALTER_CLUSTER as ALTER_CLUSTER,
)
from coordinators.access.rights import (
    ALTER_CLUSTER_CONFIGS as ALTER_CLUSTER_CONFIGS,
)
from coordinators.access.rights import (
    ALTER_GROUP_CONFIGS as ALTER_GROUP_CONFIGS,
)
from coordinators.access.rights import (
    ALTER_TOPIC as ALTER_TOPIC,
)
from coordinators.access.rights import (
    ALTER_TOPIC_CONFIGS as ALTER_TOPIC_CONFIGS,
)
from coordinators.access.rights import (
    CLUSTER_ACTION as CLUSTER_ACTION,
)
from coordinators.access.rights import (
    CREATE_CLUSTER as CREATE_CLUSTER,
)
from coordinators.access.rights import (
    CREATE_TOPIC as CREATE_TOPIC,
)
from coordinators.access.rights import (
    DELETE_GROUP as DELETE_GROUP,
)
from coordinators.access.rights import (
    DELETE_TOPIC as DELETE_TOPIC,
)
from coordinators.access.rights import (
    DESCRIBE_CLUSTER as DESCRIBE_CLUSTER,
)
from coordinators.access.rights import (
    DESCRIBE_CLUSTER_CONFIGS as DESCRIBE_CLUSTER_CONFIGS,
)
from coordinators.access.rights import (
    DESCRIBE_GROUP as DESCRIBE_GROUP,
)
from coordinators.access.rights import (
    DESCRIBE_GROUP_CONFIGS as DESCRIBE_GROUP_CONFIGS,
)
from coordinators.access.rights import (
    DESCRIBE_TOPIC as DESCRIBE_TOPIC,
)
from coordinators.access.rights import (
    DESCRIBE_TOPIC_CONFIGS as DESCRIBE_TOPIC_CONFIGS,
)
from coordinators.access.rights import (
    DESCRIBE_TRANSACTION as DESCRIBE_TRANSACTION,
)
from coordinators.access.rights import (
    IDEMPOTENT_WRITE as IDEMPOTENT_WRITE,
)
from coordinators.access.rights import (
    READ_GROUP as READ_GROUP,
)
from coordinators.access.rights import (
    READ_TOPIC as READ_TOPIC,
)
from coordinators.access.rights import (
    WRITE_TOPIC as WRITE_TOPIC,
)
from coordinators.access.rights import (
    WRITE_TRANSACTION as WRITE_TRANSACTION,
)
from engine.errors import BrokerError
from wire.kafka.codec import WireError
from wire.kafka.request import Context
from wire.kafka.steps import chained, then

Handle = Callable[[Any, Context], Any]
AnyOf = Right | tuple[Right, ...]
NameOf = Callable[[Any], str | None]
"""The name of a resource in a request; None where the right is not asked for."""


def _as_tuple(rights: AnyOf) -> tuple[Right, ...]:
    return rights if isinstance(rights, tuple) else (rights,)


def the_cluster(_: Any) -> str:
    """The resource of rights over the cluster."""
    return CLUSTER_NAME


@frozen
class Need:
    """A right that the whole request needs; see the module."""

    rights: tuple[Right, ...] = field(converter=_as_tuple)
    name: NameOf = the_cluster

    def denial(self, request: Any, caller: Caller, access: AccessControl, asked: str) -> BrokerError | None:
        """Why the request is denied, if it is."""
        name = self.name(request)
        if name is None or is_allowed(access, caller, self.rights, name, asked):
            return None
        return self.rights[0].refusal(name)


@frozen
class NeedEvery:
    """A right that the whole request needs for every one of the resources that it names; see the module."""

    right: Right
    names: Callable[[Any], Iterable[str]]

    @property
    def rights(self) -> tuple[Right, ...]:
        return (self.right,)

    def denial(self, request: Any, caller: Caller, access: AccessControl, asked: str) -> BrokerError | None:
        """Why the request is denied, if it is."""
        for name in self.names(request):
            if not access.allows(caller, self.right, name, asked):
                return self.right.refusal(name)
        return None


_Split = tuple[list[Any], list[Any]]


@frozen
class Each:
    """A right for each of the things that a request names; see the module."""

    rights: tuple[Right, ...] = field(converter=_as_tuple)
    items: str
    """The field of the request that lists them."""
    name: Callable[[Any, AccessControl], str | None]
    """Of a thing; None for an id that nobody has."""
    into: str
    """The field of the response that lists what became of them."""
    deny: Callable[[Any, BrokerError], Any]
    """What is answered of one that is denied."""
    response: Callable[[], Any]
    """Makes a response that says nothing yet, for when everything is denied."""
    quick: NameOf | None = None
    """Of a topic its name, without a look at ids: for what is asked often and not audited where it is allowed."""

    def split(self, request: Any, caller: Caller, access: AccessControl, asked: str) -> _Split | None:
        """What is permitted, and what is answered of the rest; None if everything is permitted."""
        items: Sequence[Any] = getattr(request, self.items) or ()
        permitted: list[Any] = []
        denied: list[Any] = []
        for item in items:
            name = self.name(item, access)
            if name is None or is_allowed(access, caller, self.rights, name, asked):
                permitted.append(item)
                if self.quick is not None and name is not None:
                    access.granted(caller, self.rights[0]).add(self.quick(item) or item.topic_id)
            else:
                denied.append(self.deny(item, self.rights[0].refusal(name)))
        return (permitted, denied) if denied else None


@frozen(init=False)
class Within:
    """Rights that the handler itself asks for; see the module."""

    rights: tuple[Right, ...]

    def __init__(self, *rights: Right) -> None:
        self.__attrs_init__(rights)


Check = Need | NeedEvery | Each | Within


def is_allowed(access: AccessControl, caller: Caller, rights: tuple[Right, ...], name: str, asked: str) -> bool:
    """Whether the caller has any of these rights. Only the first is audited: the others would do as well."""
    if len(rights) == 1:
        return access.allows(caller, rights[0], name, asked)
    for right in rights[1:]:
        if access.permits(caller, right, _name_for(right, name)):
            return access.allows(caller, right, _name_for(right, name), asked)
    return access.allows(caller, rights[0], _name_for(rights[0], name), asked)


def _name_for(right: Right, name: str) -> str:
    return CLUSTER_NAME if right.resource is ResourceKind.CLUSTER else name


def no_refusal(_request: Any, _version: int, error: BrokerError) -> Any:
    """Of APIs that need nothing for the whole request."""
    raise error


def answered(_: Any) -> bool:
    """Of APIs that answer everything."""
    return True


@frozen(init=False)
class Rights:
    """What an API asks for; see the module."""

    checks: tuple[Check, ...]
    refuse: Callable[[Any, int, BrokerError], Any]
    """What a request, of which version, is answered that is denied as a whole."""
    has_answer: Callable[[Any], bool] = answered
    """Whether a request is answered at all; where it is not, the connection ends for whoever is denied."""
    of_nodes: bool = False
    """Whether only nodes of the cluster may ask at all, which the handler sees to."""
    reason: str = ""
    """Why nothing is asked for."""

    def __init__(
        self,
        *checks: Check,
        refuse: Callable[[Any, int, BrokerError], Any] = no_refusal,
        has_answer: Callable[[Any], bool] = answered,
        of_nodes: bool = False,
        reason: str = "",
    ) -> None:
        self.__attrs_init__(checks, refuse, has_answer, of_nodes, reason)

    @property
    def asked(self) -> tuple[tuple[Right, ...], ...]:
        """Everything that it may ask for, alternatives together."""
        return tuple(check.rights for check in self.checks)

    @property
    def asks_within(self) -> bool:
        """Whether its handler asks."""
        return any(isinstance(check, Within) for check in self.checks)


def free(reason: str) -> Rights:
    """An API that everybody may ask, and why."""
    return Rights(reason=reason)


OF_NODES = Rights(Within(CLUSTER_ACTION), of_nodes=True)
"""An API of nodes among themselves: whoever has not shown to be one is refused, whatever rights it has."""


def by_name(item: Any, _: AccessControl) -> str | None:
    """A thing that has its name in a field `name`."""
    name: str | None = item.name
    return name


def by_topic(item: Any, _: AccessControl) -> str | None:
    """One that has it in a field `topic`."""
    name: str | None = item.topic
    return name


def by_text(item: Any, _: AccessControl) -> str | None:
    """One that is its name."""
    name: str = item
    return name


def by_name_or_id(item: Any, access: AccessControl) -> str | None:
    """A topic that has a name or, in later versions, an id."""
    return item.name or access.name_of(item.topic_id)


def guarded(asked: str, rights: Rights, handle: Handle, access: AccessControl) -> Handle:
    """The handler of an API behind what it declares, for the rights that it does not ask for itself."""
    checks = tuple(check for check in rights.checks if not isinstance(check, Within))
    if not checks or not access.is_enforced:
        return handle
    ask = _asking(asked, rights, checks, handle, access)
    last = checks[-1]
    if isinstance(last, Each) and last.quick is not None:
        (first,) = checks[:-1]
        assert isinstance(first, Need), "what is quick asks for one right of the whole, and this"
        return _quickly(first.name, last, last.quick, handle, ask, access)
    return ask


def _quickly(whole: NameOf, each: Each, quick: NameOf, handle: Handle, ask: Handle, access: AccessControl) -> Handle:
    """The same, with one look for what was asked for before: for requests that name nothing but such topics, and no
    resource that they need as a whole."""
    items_of, known = attrgetter(each.items), access.known(each.rights[0])

    def ask_quickly(request: Any, context: Context) -> Any:
        granted = known.get(context.peer.caller.key)
        if granted is not None and whole(request) is None:
            for item in items_of(request):
                if (quick(item) or item.topic_id) not in granted:
                    return ask(request, context)
            return handle(request, context)
        return ask(request, context)

    return ask_quickly


def _asking(
    asked: str,
    rights: Rights,
    checks: tuple[Need | NeedEvery | Each, ...],
    handle: Handle,
    access: AccessControl,
) -> Handle:

    def ask(request: Any, context: Context) -> Any:
        peer = context.peer
        if peer.node_id is not None or request is None:
            return handle(request, context)
        caller = peer.caller
        answers: list[tuple[Each, list[Any]]] | None = None
        for check in checks:
            if isinstance(check, Each):
                split = check.split(request, caller, access, asked)
                if split is not None:
                    permitted, denied = split
                    answers = [*(answers or ()), (check, denied)]
                    if not permitted and rights.has_answer(request):
                        return _joined(answers, check.response())
                    request = msgspec.structs.replace(request, **{check.items: permitted})
            elif type(check) is not Need or check.name(request) is not None:
                error = check.denial(request, caller, access, asked)
                if error is not None:
                    if not rights.has_answer(request):
                        raise WireError(f"a request that has no answer is denied: {error}")
                    return rights.refuse(request, context.version, error)
        if answers is None:
            return handle(request, context)
        denials = answers
        return then(handle(request, context), lambda response: _joined(denials, response))

    return ask


def _joined(answers: list[tuple[Each, list[Any]]], response: Any) -> Any:
    """What the handler has answered, and what was denied before."""
    if response is None:
        raise WireError("a request that is not answered was denied in part")
    for check, denied in answers:
        setattr(response, check.into, chained(getattr(response, check.into), denied))
    return response
