"""DescribeUserScramCredentials (50), version 0: which users have which mechanisms (KIP-554). Never salts or keys.

No list, or an empty one, is all users. One that is unknown: RESOURCE_NOT_FOUND; named twice: DUPLICATE_RESOURCE.
"""

from coordinators.access.scram import BY_NAME
from coordinators.access.users import Users
from engine.catalogue.user_records import UserRecord
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_CLUSTER, Need, Rights
from wire.kafka.steps import lazily

KEY = 50
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(DESCRIBE_CLUSTER),
    refuse=lambda _request, _version, error: DescribeUserScramCredentialsResponse(
        error_code=error_code(error), error_message=str(error)
    ),
)


def handle(
    request: DescribeUserScramCredentialsRequest, _: Context, users: Users
) -> DescribeUserScramCredentialsResponse:
    """Each user with its mechanisms, or why not."""
    names = None if request.users is None else [user.name for user in request.users]
    return DescribeUserScramCredentialsResponse(results=lazily(users.described(names), _result))


def _result(found: tuple[str, UserRecord | BrokerError]) -> DescribeUserScramCredentialsResult:
    name, record = found
    if isinstance(record, BrokerError):
        return DescribeUserScramCredentialsResult(name, error_code(record), str(record))
    infos = [
        CredentialInfo(BY_NAME[mechanism].number, kept.iterations)
        for mechanism, kept in sorted(record.scram.items())
        if mechanism in BY_NAME
    ]
    return DescribeUserScramCredentialsResult(name, credential_infos=infos)
