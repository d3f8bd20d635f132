"""CreateAcls (30), versions 1-3: makes rules (KIP-140, KIP-290). One that is there already is made again, with success.

The answer comes when they are in force on this node; the others follow within moments.
"""

from coordinators.access.administration import AclAdministration
from engine.catalogue.records import AclRecord
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, Need, Rights

KEY = 30
VERSIONS = (1, 3)
RIGHTS = Rights(Need(ALTER_CLUSTER), refuse=lambda request, _, error: _refused(request, error))


async def handle(request: CreateAclsRequest, _: Context, acls: AclAdministration) -> CreateAclsResponse:
    """Make those that can be made."""
    try:
        results = await acls.create([_acl(each) for each in request.creations])
    except BrokerError as error:
        return _refused(request, error)
    return CreateAclsResponse(results=[_result(each) for each in results])


def _acl(wanted: AclCreation) -> AclRecord:
    return AclRecord(
        wanted.resource_type,
        wanted.resource_name,
        wanted.resource_pattern_type,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission_type,
    )


def _result(refusal: BrokerError | None) -> AclCreationResult:
    return AclCreationResult() if refusal is None else AclCreationResult(error_code(refusal), str(refusal))


def _refused(request: CreateAclsRequest, error: BrokerError) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_result(error) for _ in request.creations])
