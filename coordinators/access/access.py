"""The one place that every door asks whether its caller may do something.

A door names the caller, the right and the resource; whether the resource exists is not looked at, so that no answer
tells. Decisions are kept until a rule changes. What is denied, and what is allowed and changes something, is audited
each time (`audit.py`); what is only looked up, to tell a client what it may do or to leave out what it may not see, is
not.

Without an authorizer everything is allowed, and doors that can ask once whether there is one (`is_enforced`) ask no
further. A node of the cluster may do everything: it acts for whoever was allowed to make it act.
"""

from attrs import define, field, frozen

from coordinators.access.acls import CLUSTER_NAME, OPERATIONS, Operation, ResourceKind
from coordinators.access.audit import Audit
from coordinators.access.authorizer import Authorizer, Decision, Rules
from coordinators.access.callers import NODE, Caller
from coordinators.records.portions import TopicJudge
from coordinators.topic_view import TopicView
from engine.errors import (
    BrokerError,
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    SubjectAuthorizationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)
from engine.ids import TopicId

KEPT_DECISIONS = 20_000
"""Past so many all are forgotten: names are the clients' to make up."""

_REFUSALS: dict[ResourceKind, type[BrokerError]] = {
    ResourceKind.TOPIC: TopicAuthorizationFailed,
    ResourceKind.GROUP: GroupAuthorizationFailed,
    ResourceKind.CLUSTER: ClusterAuthorizationFailed,
    ResourceKind.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
    ResourceKind.SUBJECT: SubjectAuthorizationFailed,
}


@frozen
class Right:
    """Something that can be done to resources of a kind."""

    operation: Operation
    resource: ResourceKind
    code: int = field(init=False, eq=False, repr=False)
    """A number of its own."""

    @code.default
    def _code(self) -> int:
        return self.operation * 256 + self.resource

    def __str__(self) -> str:
        return f"{self.operation.name} {self.resource.name}"

    def refusal(self, name: str) -> BrokerError:
        """What whoever does not have it is told."""
        where = "the cluster" if self.resource is ResourceKind.CLUSTER else f"the {_word(self.resource)} {name!r}"
        return _REFUSALS[self.resource](f"not authorized to {self.operation.name} {where}")


def _word(resource: ResourceKind) -> str:
    return resource.name.lower().replace("_", " ")


Known = dict[str, set[str | TopicId]]
"""Names, and ids of topics, by the keys of callers."""
_Key = tuple[Caller, Operation, ResourceKind, str]


@define(eq=False)
class AccessControl:
    """See the module."""

    authorizer: Authorizer | None
    audit: Audit
    topics: TopicView
    _known: dict[int, Known] = field(factory=dict, init=False)
    """What is allowed, and nobody wants to know of, by the codes of rights."""
    _decisions: dict[_Key, Decision] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        if self.authorizer is not None:
            self.authorizer.rules.on_change.append(self._forget)

    @property
    def is_enforced(self) -> bool:
        """Whether anybody is asked for rights at all."""
        return self.authorizer is not None

    @property
    def rules(self) -> Rules | None:
        return None if self.authorizer is None else self.authorizer.rules

    def name_of(self, topic_id: TopicId) -> str | None:
        """What the topic of this id is called, if there is one: rules know topics by their names."""
        topic = self.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    # -- asking

    def allows(self, caller: Caller, right: Right, name: str = CLUSTER_NAME, asked: str = "") -> bool:
        """Whether the caller may do what it is about to do, by a request of the name `asked`."""
        if self.authorizer is None:
            return True
        granted = self.granted(caller, right)
        if name in granted:
            return True
        decision = self._decide((caller, right.operation, right.resource, name))
        if decision.allowed and not self.audit.wants(right.operation):
            granted.add(name)
        else:
            self.audit.note(caller, right.operation, right.resource, name, decision, asked)
        return decision.allowed

    def granted(self, caller: Caller, right: Right) -> set[str | TopicId]:
        """What the caller was allowed before, and may still: for those who look many things up. Only where there is an
        authorizer; what is not among it has to be asked for."""
        assert self.authorizer is not None, "else nothing is asked for"
        known = self.known(right)
        granted = known.get(caller.key)
        if granted is None:
            granted = known[caller.key] = set()
        return granted

    def known(self, right: Right) -> Known:
        """The same of all callers, by their keys. It stays the same object, whatever is in it."""
        known = self._known.get(right.code)
        if known is None:
            known = self._known[right.code] = {}
        return known

    def _forget(self) -> None:
        """The rules have changed, or it is too much."""
        for known in self._known.values():
            known.clear()
        self._decisions.clear()

    def permits(self, caller: Caller, right: Right, name: str = CLUSTER_NAME) -> bool:
        """The same for whoever only wants to know, which is not audited."""
        return self.authorizer is None or self._decide((caller, right.operation, right.resource, name)).allowed

    def require(self, caller: Caller, right: Right, name: str = CLUSTER_NAME, asked: str = "") -> None:
        """Raise the refusal unless the caller may."""
        if not self.allows(caller, right, name, asked):
            raise right.refusal(name)

    def allows_any(self, caller: Caller, right: Right, asked: str = "") -> bool:
        """Whether there may be any resource of the kind to which the caller may do that."""
        if self.authorizer is None or caller.principal == NODE.principal:
            return True
        decision = self.authorizer.decide_for_any(caller, right.operation, right.resource)
        if not decision.allowed:
            self.audit.note(caller, right.operation, right.resource, "*", decision, asked)
        return decision.allowed

    def topic_judge(self, caller: Caller, right: Right, asked: str) -> TopicJudge | None:
        """What tells of topics, as often as it is asked, why the caller may not do that to them; None where everybody
        may. Whoever waits asks it again before it goes on."""
        if self.authorizer is None:
            return None

        def refusal(named: str | TopicId) -> BrokerError | None:
            granted = self.granted(caller, right)
            if named in granted:
                return None
            name = named if isinstance(named, str) else self.name_of(named)
            if name is None or not self.allows(caller, right, name, asked):
                return None if name is None else right.refusal(name)
            granted.add(named)
            return None

        return refusal

    def operations(self, caller: Caller, resource: ResourceKind, name: str = CLUSTER_NAME) -> int:
        """All that the caller may do to a resource, as the bit field that clients are told (KIP-430)."""
        may = (each for each in OPERATIONS[resource] if self.permits(caller, Right(each, resource), name))
        return sum(1 << operation for operation in may)

    def why(self, caller: Caller, right: Right, name: str = CLUSTER_NAME) -> Decision:
        """What decides about it."""
        if self.authorizer is None:
            return Decision(True, "nobody is asked for rights (authorizer.enable=false)")
        return self._decide((caller, right.operation, right.resource, name))

    def _decide(self, key: _Key) -> Decision:
        assert self.authorizer is not None, "else there is nothing to decide"
        if len(self._decisions) > KEPT_DECISIONS:
            self._forget()
        decision = self._decisions.get(key)
        if decision is None:
            if key[0].principal == NODE.principal:
                decision = Decision(True, "a node of the cluster")
            else:
                decision = self.authorizer.decide(*key)
            self._decisions[key] = decision
        return decision
