"""AlterUserScramCredentials (51), version 0: gives users passwords, and takes them away (KIP-554).

The client sends a salt and the salted password; only what is needed to check a proof is kept. All that a request
changes is one change. A user that is named twice for one mechanism is not changed.
"""

from coordinators.access.users import ScramDeletion, ScramUpsertion, Users
from coordinators.cluster.controller import ClusterController
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from wire.kafka.request import Context
from wire.kafka.rights import ALTER_CLUSTER, Need, Rights

KEY = 51
VERSIONS = (0, 0)
RIGHTS = Rights(
    Need(ALTER_CLUSTER),
    refuse=lambda request, _, error: AlterUserScramCredentialsResponse(
        results=[
            _result(name, error)
            for name in dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
        ]
    ),
)


async def handle(
    request: AlterUserScramCredentialsRequest, _: Context, users: Users, controller: ClusterController
) -> AlterUserScramCredentialsResponse:
    """Delete, then set; per user whether it was done."""
    deletions = [ScramDeletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        ScramUpsertion(each.name, each.mechanism, each.iterations, bytes(each.salt), bytes(each.salted_password))
        for each in request.upsertions
    ]
    names, plan = users.planning(deletions, upsertions)
    results = await controller.change(plan)
    return AlterUserScramCredentialsResponse(
        results=[_result(name, outcome) for name, outcome in zip(names, results, strict=True)]
    )


def _result(name: str, outcome: str | BrokerError) -> AlterUserScramCredentialsResult:
    if isinstance(outcome, BrokerError):
        return AlterUserScramCredentialsResult(name, error_code(outcome), str(outcome))
    return AlterUserScramCredentialsResult(name)
