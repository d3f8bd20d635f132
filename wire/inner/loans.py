"""Records that a share group has lent to a member, by their receipts, until they are settled or their locks run out.

Whether a delivery is the latest is the leader's to judge: it is told which one is meant (`tidegate_delivery_count`).
What is known here is whose a receipt is and when its lock ends: most of what is too late need not be asked. What was
settled is remembered until then: who settles a record again the same way, because it has not heard the answer, is told
the same.
"""

from collections.abc import Iterable
from enum import IntEnum

from attrs import define, field

from coordinators.share.acks import AckType
from engine.errors import InvalidRecordState
from wire.inner.receipts import WorkReceipt

Lent = tuple[str, int, int]
"""A topic, a partition, an offset."""


class Settling(IntEnum):
    """What a caller says of a record."""

    ACK = AckType.ACCEPT
    NACK = AckType.RELEASE
    REJECT = AckType.REJECT
    EXTEND = AckType.RENEW


@define
class Loan:
    """A record in somebody's hands."""

    receipt: WorkReceipt
    until: float
    settled: Settling | None = None


@define(eq=False)
class Loans:
    """See the module."""

    _loans: dict[Lent, Loan] = field(factory=dict, init=False)

    def __len__(self) -> int:
        return len(self._loans)

    def lend(self, receipt: WorkReceipt, until: float) -> None:
        """A record was delivered; an earlier delivery counts no more."""
        self._loans[receipt[:3]] = Loan(receipt, until)

    def check(self, receipt: WorkReceipt, settlement: Settling, now: float) -> bool:
        """Whether it is still to be settled; False if it was, the same way. Raises if it cannot be."""
        loan = self._loans.get(receipt[:3])
        if loan is None or loan.receipt != receipt:
            raise InvalidRecordState(f"{receipt} is of a delivery that is over: settled, or taken back")
        if now >= loan.until:
            raise InvalidRecordState(f"the lock of {receipt} has run out: the record is for others now")
        if loan.settled not in (None, settlement):
            raise InvalidRecordState(f"{receipt} was settled otherwise before: {loan.settled.name.lower()}")
        return loan.settled is None

    def settle(self, receipts: Iterable[WorkReceipt], settlement: Settling) -> None:
        """The leader has taken it."""
        for receipt in receipts:
            if (loan := self._loans.get(receipt[:3])) is not None and loan.receipt == receipt:
                loan.settled = settlement

    def extend(self, receipts: Iterable[WorkReceipt], until: float) -> None:
        """Their locks begin anew."""
        for receipt in receipts:
            if (loan := self._loans.get(receipt[:3])) is not None and loan.receipt == receipt:
                loan.until = until

    def lose(self, receipts: Iterable[WorkReceipt]) -> None:
        """The leader says that they are not the member's any more."""
        for receipt in receipts:
            if (loan := self._loans.get(receipt[:3])) is not None and loan.receipt == receipt:
                del self._loans[receipt[:3]]

    def forget(self, now: float) -> None:
        """Those whose locks have run out."""
        for lent in [lent for lent, loan in self._loans.items() if now >= loan.until]:
            del self._loans[lent]

    @property
    def in_hand(self) -> int:
        """How many are not settled."""
        return sum(1 for loan in self._loans.values() if loan.settled is None)
