"""Requests that make and delete partitions, within what their client's quota allows (KIP-599)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from coordinators.access.quotas.charges import MutationCharge
from coordinators.access.quotas.quotas import Quotas
from engine.errors import BrokerError
from wire.kafka.request import Context

S = TypeVar("S")
T = TypeVar("T")
Change = Callable[[Sequence[S], bool], Awaitable[Sequence[T | BrokerError]]]
"""Makes some of what is wanted; or, if the second is true, only says whether it would."""


def mutation_charge(quotas: Quotas, context: Context, first_strict_version: int) -> MutationCharge | None:
    """What this request is charged by; None if nothing bounds its client."""
    if not quotas.mutations.is_on or context.peer.node_id is not None:
        return None
    is_strict = context.version >= first_strict_version
    return MutationCharge.of(quotas.mutations, context.caller, context.client_id, strict=is_strict)


async def mutate(
    charge: MutationCharge | None,
    wanted: Sequence[S],
    change: Change[S, T],
    partitions: Callable[[S, T], int],
    *,
    validate_only: bool = False,
) -> Sequence[T | BrokerError]:
    """What became of each; only what could be done is charged, and only what could be charged is done."""
    if charge is None:
        return await change(wanted, validate_only)
    outcomes: list[T | BrokerError] = []
    for each, tried in zip(wanted, await change(wanted, True), strict=True):
        refusal = None if isinstance(tried, BrokerError) else charge.refusal(partitions(each, tried))
        outcomes.append(refusal or tried)
    if validate_only:
        return outcomes
    accepted = [each for each, tried in zip(wanted, outcomes, strict=True) if not isinstance(tried, BrokerError)]
    made = iter(await change(accepted, False) if accepted else ())
    return [tried if isinstance(tried, BrokerError) else next(made) for tried in outcomes]
