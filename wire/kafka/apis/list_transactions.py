"""ListTransactions (66), versions 0-2: the transactional ids that this node coordinates (KIP-664).

Filtered by state and producer id; from version 1 by how long the transaction has run, from 2 by a pattern of ids in
RE2's syntax, which no pattern can make slow.
"""

from typing import Any, NamedTuple

from coordinators.access.access import AccessControl
from coordinators.tenants.patterns import TenantPattern
from coordinators.transaction.transaction import BY_LABEL
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from wire.kafka.errors import ErrorCode, error_code
from wire.kafka.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState
from wire.kafka.request import Context
from wire.kafka.rights import DESCRIBE_TRANSACTION, Rights, Within

KEY = 66
VERSIONS = (0, 2)
RIGHTS = Rights(Within(DESCRIBE_TRANSACTION), reason="transactional ids that may not be described are left out")


def handle(
    request: ListTransactionsRequest, context: Context, transactions: Transactions, access: AccessControl
) -> ListTransactionsResponse:
    """List what passes all filters."""
    unknown = [name for name in request.state_filters if name not in BY_LABEL]
    try:
        pattern = _compiled(request.transactional_id_pattern)
        found = transactions.list(
            set(request.state_filters), set(request.producer_id_filters), request.duration_filter, pattern
        )
    except ValueError:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    except BrokerError as error:
        return ListTransactionsResponse(error_code=error_code(error), unknown_state_filters=unknown)
    states = [
        TransactionState(each.transactional_id, each.producer_id, each.state.label)
        for each in found
        if access.permits(context.caller, DESCRIBE_TRANSACTION, each.transactional_id)
    ]
    return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=states)


class _Scoped(NamedTuple):
    """A pattern of the ids of one tenant, or of all."""

    scope: TenantPattern
    pattern: Any

    def fullmatch(self, transactional_id: str) -> object | None:
        """As a pattern does it."""
        subject = self.scope.subject(transactional_id)
        return None if subject is None else self.pattern.fullmatch(subject)


def _compiled(pattern: str | None) -> Any:
    """The pattern, None if there is none; `ValueError` if it is not one."""
    if not pattern:
        return None
    # Loaded by the few who need it.
    import re2

    options = re2.Options()
    options.log_errors = False
    scope = TenantPattern.read(pattern)
    try:
        return _Scoped(scope, re2.compile(scope.expression, options))
    except re2.error as error:
        raise ValueError(str(error)) from error
