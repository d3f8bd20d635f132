"""Rules made, found and removed: the use case behind DescribeAcls, CreateAcls and DeleteAcls, and any other door."""

from collections.abc import Callable, Sequence

from attrs import frozen

from coordinators.access.access import AccessControl
from coordinators.access.acls import AclFilter, check_acl
from coordinators.access.authorizer import Rules
from coordinators.cluster.controller import ClusterController
from coordinators.topic_view import Plan
from engine.catalogue.catalogue import Commit, Delete, Put
from engine.catalogue.records import AclRecord
from engine.errors import BrokerError, SecurityDisabled, kept


@frozen(eq=False)
class AclAdministration:
    """See the module. Who may do it is asked by the door, as of every other request."""

    access: AccessControl
    controller: ClusterController

    def _rules(self) -> Rules:
        rules = self.access.rules
        if rules is None:
            raise SecurityDisabled("no authorizer is configured on this broker: set authorizer.enable=true")
        return rules

    def find(self, wanted: AclFilter) -> list[AclRecord]:
        """The rules that a filter means. Raises if there is no authorizer, or the filter is none."""
        rules = self._rules()
        wanted.check()
        return rules.matching(wanted)

    async def create(self, acls: Sequence[AclRecord]) -> list[BrokerError | None]:
        """Make rules, all that can be made in one change; per rule, why it was not. One that is there is made again."""
        self._rules()
        results = [_refusal(acl) for acl in acls]
        legal = {acl.key: acl for acl, refusal in zip(acls, results, strict=True) if refusal is None}
        # Those too that are known here: another node may just have removed one.
        puts = tuple(Put(key, acl.encode()) for key, acl in legal.items())
        error = await self._change(lambda: puts) if puts else None
        return [refusal or error for refusal in results]

    async def delete(self, filters: Sequence[AclFilter]) -> list[list[AclRecord] | BrokerError]:
        """Remove what filters mean; per filter what it meant, or why nothing was removed."""
        rules = self._rules()
        refusals = [_refusal_of_filter(each) for each in filters]
        found: list[list[AclRecord]] = []

        def plan() -> tuple[Delete, ...]:
            found[:] = [
                [] if refusal is not None else rules.matching(each)
                for each, refusal in zip(filters, refusals, strict=True)
            ]
            return tuple(Delete(key) for key in sorted({acl.key for acls in found for acl in acls}))

        error = await self._change(plan)
        if error is not None:
            return [refusal or error for refusal in refusals]
        return [found[number] if refusal is None else refusal for number, refusal in enumerate(refusals)]

    async def _change(self, plan: Callable[[], tuple[Put | Delete, ...]]) -> BrokerError | None:
        """Why the change could not be made, if so; else it is in force on this node."""
        (result,) = await self.controller.change(lambda: Plan[None](Commit(changes=plan()), (None,)))
        return result


def _refusal(acl: AclRecord) -> BrokerError | None:
    try:
        check_acl(acl)
    except BrokerError as error:
        return kept(error)
    return None


def _refusal_of_filter(wanted: AclFilter) -> BrokerError | None:
    try:
        wanted.check()
    except BrokerError as error:
        return kept(error)
    return None
