"""What a single request uses of somebody's quotas, where that is known only while it is served."""

import math

from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.access.quotas.meters import Meter, MutationMeter
from engine.errors import ThrottlingQuotaExceeded


@define(eq=False)
class FetchCharge:
    """Records that a client fetches: asked once for each answer, with its size. What goes beyond the quota is not given
    and not counted; but a batch that is larger than the quota ever allows is, where nothing else was fetched: it could
    never be read otherwise."""

    meter: Meter
    user: str
    client_id: str
    wait_s: float = field(default=0.0, init=False)
    is_refused: bool = field(default=False, init=False)

    @classmethod
    def of(cls, meter: Meter, caller: Caller, client_id: str | None) -> "FetchCharge | None":
        """None for a client that nothing bounds."""
        user, name = caller.principal.name, client_id or ""
        return None if meter.account(user, name) is None else cls(meter, user, name)

    @property
    def most_bytes(self) -> int:
        """More is not worth reading."""
        return int(min(self.meter.most_at_once(self.user, self.client_id), 2**31 - 1))

    @property
    def wait_ms(self) -> int:
        """How long the client is told to wait."""
        return math.ceil(self.wait_s * 1000)

    def gives(self, size: int) -> bool:
        """Whether so much may be given."""
        user, name = self.user, self.client_id
        is_too_large = size > self.meter.most_at_once(user, name)
        if is_too_large and not self.meter.is_overdrawn(user, name):
            self.wait_s = self.meter.use(user, name, size)
        else:
            self.wait_s = self.meter.use_if_within(user, name, size)
            self.is_refused = self.wait_s > 0
        return not self.is_refused

    def begins(self) -> bool:
        """Whether anything may be given at all: asked by those who cannot take back what they have handed out."""
        self.wait_s = self.meter.overdrawn_s(self.user, self.client_id)
        self.is_refused = self.wait_s > 0
        return not self.is_refused

    def gave(self, size: int) -> None:
        """So much was handed out after `begins`; the client waits for it afterwards."""
        self.wait_s = self.meter.use(self.user, self.client_id, size)


@define(eq=False)
class MutationCharge:
    """Partitions that a request makes or deletes (KIP-599). Where it is `strict`, what there are no tokens for is
    refused; else, for clients that do not know that error, it is done and they wait."""

    meter: MutationMeter
    user: str
    client_id: str
    strict: bool
    wait_s: float = field(default=0.0, init=False)

    @classmethod
    def of(
        cls, meter: MutationMeter, caller: Caller, client_id: str | None, *, strict: bool
    ) -> "MutationCharge | None":
        """None for a client that nothing bounds."""
        user, name = caller.principal.name, client_id or ""
        return None if meter.account(user, name) is None else cls(meter, user, name, strict)

    @property
    def wait_ms(self) -> int:
        """How long the client is told to wait."""
        return math.ceil(self.wait_s * 1000)

    def refusal(self, partitions: int) -> ThrottlingQuotaExceeded | None:
        """Take the tokens for so many; why not."""
        wait_s = self.meter.take(self.user, self.client_id, partitions, strict=self.strict)
        self.wait_s = max(self.wait_s, wait_s)
        if not wait_s or not self.strict:
            return None
        return ThrottlingQuotaExceeded(
            f"The throttling quota has been exceeded: try again in {math.ceil(wait_s * 1000)} ms "
            f"(controller_mutation_rate)."
        )
