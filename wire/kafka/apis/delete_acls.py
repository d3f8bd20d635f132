"""DeleteAcls (31), versions 1-3: removes the rules that filters mean, and tells which those were (KIP-140, KIP-290)."""

from coordinators.access.acls import AclFilter
from coordinators.access.administration import AclAdministration
from engine.catalogue.records import AclRecord
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, Need, Rights

KEY = 31
VERSIONS = (1, 3)
RIGHTS = Rights(Need(ALTER_CLUSTER), refuse=lambda request, _, error: _refused(request, error))


async def handle(request: DeleteAclsRequest, _: Context, acls: AclAdministration) -> DeleteAclsResponse:
    """Remove them, all in one change."""
    try:
        results = await acls.delete([_filter(each) for each in request.filters])
    except BrokerError as error:
        return _refused(request, error)
    return DeleteAclsResponse(filter_results=[_result(each) for each in results])


def _filter(wanted: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        wanted.pattern_type_filter,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )


def _result(result: list[AclRecord] | BrokerError) -> DeleteAclsFilterResult:
    if isinstance(result, BrokerError):
        return DeleteAclsFilterResult(error_code(result), str(result))
    return DeleteAclsFilterResult(matching_acls=[_match(acl) for acl in result])


def _match(acl: AclRecord) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _refused(request: DeleteAclsRequest, error: BrokerError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[_result(error) for _ in request.filters])
