"""Rules of a running broker, over Kafka's own APIs: found, made, removed; and what they decide, found out here."""

from collections.abc import Sequence
from typing import Any

from coordinators.access.acls import AclFilter, Operation, PatternType, Permission, ResourceKind
from coordinators.access.authorizer import Authorizer, Decision, Rules
from coordinators.access.callers import Caller, Principal
from coordinators.access.config import super_users
from engine.catalogue.records import AclRecord
from tools.cli.errors import UsageMistake, refusal
from tools.cli.kafka import connected, run
from tools.cli.profiles import Profile
from wire.kafka.messages.create_acls import AclCreation, CreateAclsRequest
from wire.kafka.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from wire.kafka.messages.describe_acls import DescribeAclsRequest
from wire.kafka.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

BROKER = 4
WITHOUT_RULES = "allow.everyone.if.no.acl.found"
KINDS = {
    "topic": ResourceKind.TOPIC,
    "group": ResourceKind.GROUP,
    "cluster": ResourceKind.CLUSTER,
    "transactional-id": ResourceKind.TRANSACTIONAL_ID,
    "subject": ResourceKind.SUBJECT,
}


def operation_of(text: str) -> Operation:
    """By its name, however it is written: `read`, `ALTER_CONFIGS`, `alter-configs`."""
    name = text.upper().replace("-", "_")
    if name not in Operation.__members__ or Operation[name] <= Operation.ANY:
        names = ", ".join(each.name.lower().replace("_", "-") for each in Operation if each > Operation.ANY)
        raise UsageMistake(f"there is no operation {text!r}", f"one of {names}")
    return Operation[name]


def row(acl: AclRecord) -> dict[str, Any]:
    """A rule as it is shown."""
    return {
        "permission": Permission(acl.permission).name.lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": Operation(acl.operation).name.lower().replace("_", "-"),
        "resource": ResourceKind(acl.resource_type).name.lower().replace("_", "-"),
        "name": acl.name,
        "pattern": PatternType(acl.pattern).name.lower(),
    }


class WireAcls:
    """See the module."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def find(self, wanted: AclFilter) -> list[AclRecord]:
        """The rules that a filter means."""
        answer = self._ask(DescribeAclsRequest(*_codes(wanted)))
        if answer.error_code:
            raise refusal(answer.error_code, "the rules", answer.error_message)
        return [
            AclRecord(
                each.resource_type,
                each.resource_name,
                each.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for each in answer.resources
            for acl in each.acls
        ]

    def add(self, acls: Sequence[AclRecord]) -> None:
        """Make rules."""
        creations = [
            AclCreation(
                each.resource_type, each.name, each.pattern, each.principal, each.host, each.operation, each.permission
            )
            for each in acls
        ]
        for each in self._ask(CreateAclsRequest(creations)).results:
            if each.error_code:
                raise refusal(each.error_code, "the rule", each.error_message)

    def remove(self, acls: Sequence[AclRecord]) -> None:
        """Remove these and no others."""
        filters = [
            DeleteAclsFilter(
                each.resource_type, each.name, each.pattern, each.principal, each.host, each.operation, each.permission
            )
            for each in acls
        ]
        for each in self._ask(DeleteAclsRequest(filters)).filter_results:
            if each.error_code:
                raise refusal(each.error_code, "the rule", each.error_message)

    def why(self, user: str, host: str, operation: Operation, kind: ResourceKind, name: str) -> Decision:
        """What decides whether a user may do that, by the same rules as the broker's."""
        found = self.find(AclFilter(kind, name, PatternType.MATCH))
        rules = Rules()
        rules.put({acl.key: acl.encode() for acl in found})
        supers, everyone = self._settings()
        return Authorizer(rules, super_users(supers), everyone).decide(
            Caller(Principal(user), host), operation, kind, name
        )

    def _settings(self) -> tuple[str, bool]:
        keys = ["super.users", WITHOUT_RULES]

        async def work() -> Any:
            async with connected(self._profile) as kafka:
                node = kafka.nodes[0]
                resource = DescribeConfigsResource(BROKER, str(node), keys)
                return await kafka.call(DescribeConfigsRequest([resource]), node=node)

        result = run(work()).results[0]
        if result.error_code:
            raise refusal(result.error_code, "the broker's keys", result.error_message)
        values = {each.name: each.value or "" for each in result.configs}
        return values.get("super.users", ""), values.get(WITHOUT_RULES, "false") == "true"

    def _ask(self, request: Any) -> Any:
        async def work() -> Any:
            async with connected(self._profile) as kafka:
                return await kafka.call(request)

        return run(work())


def _codes(wanted: AclFilter) -> tuple[Any, ...]:
    return (
        int(wanted.resource_type),
        wanted.name,
        int(wanted.pattern),
        wanted.principal,
        wanted.host,
        int(wanted.operation),
        int(wanted.permission),
    )
