"""What one broker has lent this worker: a share session without I/O.

A session has one counter for fetches and acknowledgements, so it asks one thing at a time. What is settled while a
fetch waits has to wait for it, therefore fetches wait but briefly while there are jobs in hand.

Acknowledgements of a partition are one unit: if the broker refuses one it has carried out none. Then each is sent by
itself, so that a job that was lost takes no other with it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, field

from tidegate.work.job import Job, JobLost, Place, Settle, Settlement
from tidegate.work.membership import refusal
from tidegate.work.records import jobs_in
from wire.kafka.messages import share_acknowledge, share_fetch
from wire.kafka.messages.share_acknowledge import ShareAcknowledgeRequest
from wire.kafka.messages.share_fetch import ForgottenTopic, ShareFetchRequest

OPENING, CLOSING = 0, -1
LAST_EPOCH = 2**31 - 1
RECORD_LIMIT = 1
NO_DELAY = -1
FETCH_WAIT_MS, BUSY_WAIT_MS = 500, 100
FETCH_BYTES = 16 * 1024 * 1024
RETRY_S = 0.1
LIMIT_RETRY_S = 1.0
INVALID_RECORD_STATE = 121
NO_SESSION, OTHER_EPOCH, TOO_MANY_SESSIONS = 122, 123, 133
PASSING = (-1, 7, 14, 15, 16)
"""The broker could not write it down just now: the record is still lent."""
FOR_GOOD = (29, 30, 35)
Acks = dict[Place, dict[int, Settlement]]
"""What becomes of each offset."""
Done = Callable[[Exception | None], None]
"""Is told how a settlement ended."""


@define(eq=False)
class _Loan:
    """A job and its lock."""

    job: Job
    expires: float
    renew_at: float
    settlement: Settlement | None = None
    done: Done | None = None


@define(eq=False)
class Lending:
    """See the module. `names` knows topics by their ids."""

    group: str
    member_id: str
    settle: Settle
    names: dict[bytes, str]
    wanted: frozenset[Place] = field(default=frozenset(), init=False)
    """What this broker leads of what is assigned."""
    fresh: list[Job] = field(factory=list, init=False)
    """Jobs that came since somebody looked."""
    is_asking: bool = field(default=False, init=False)
    is_closing: bool = field(default=False, init=False)
    is_closed: bool = field(default=False, init=False)
    has_moved: bool = field(default=False, init=False)
    """Whether the broker says of a partition that it does not lead it."""
    reserved: int = field(default=0, init=False)
    """How many records the fetch under way may bring."""
    not_before: float = field(default=0.0, init=False)
    _epoch: int = field(default=OPENING, init=False)
    _known: set[Place] = field(factory=set, init=False)
    _loans: dict[tuple[Place, int], _Loan] = field(factory=dict, init=False)
    _gaps: dict[Place, set[int]] = field(factory=dict, init=False)
    _one_by_one: set[tuple[Place, int]] = field(factory=set, init=False)
    _lock_s: float = field(default=30.0, init=False)
    _sent: Acks = field(factory=dict, init=False)
    """What the request under way says, where it is an acknowledgement."""
    _is_last: bool = field(default=False, init=False)
    """Whether the request under way ends the session."""

    @property
    def held(self) -> int:
        """How many jobs are lent."""
        return len(self._loans)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be had from it and nothing to be told."""
        return not self.wanted and not self._loans and not self._gaps

    # -- settling

    def note(self, job: Job, settlement: Settlement, done: Done | None) -> None:
        """A job is to be settled so."""
        loan = self._loans[job.place, job.offset]
        loan.settlement, loan.done = settlement, done

    def unsettled(self) -> list[Job]:
        """Jobs that nobody has said anything about."""
        return [loan.job for loan in self._loans.values() if loan.settlement is None]

    def has(self, job: Job) -> bool:
        """Whether it is lent here."""
        return (job.place, job.offset) in self._loans

    def lose(self, reason: str) -> None:
        """The connection is gone, and all that was lent with it."""
        for key in list(self._loans):
            self._lost(key, reason)
        self.is_closed = True

    def _lost(self, key: tuple[Place, int], reason: str) -> None:
        self._one_by_one.discard(key)
        if (loan := self._loans.pop(key, None)) is None:
            return
        loan.job.is_lost = True
        if loan.done is not None:
            loan.done(JobLost(f"offset {loan.job.offset} of {loan.job.topic}-{loan.job.partition}: {reason}"))

    # -- asking

    def wake_at(self) -> float | None:
        """When a lock has to be renewed."""
        times = [loan.renew_at for loan in self._loans.values() if loan.settlement is None]
        return min(times, default=None)

    def request(self, now: float, room: int) -> tuple[Any, float] | None:
        """What to ask next, and how long it may wait at the broker; None if there is nothing."""
        if self.is_asking or self.is_closed or now < self.not_before:
            return None
        if self._epoch == OPENING:
            return self._open(room)
        if self.is_closing and not self.unsettled() and not self._one_by_one:
            return self._acknowledge(CLOSING, self._acks(), renews=False)
        if due := self._renewals(now):
            return self._acknowledge(self._epoch, due, renews=True)
        if acks := self._acks():
            return self._acknowledge(self._epoch, acks, renews=False)
        if room > 0 and self.wanted and not self.is_closing:
            return self._fetch(room)
        return None

    def _open(self, room: int) -> tuple[Any, float] | None:
        """A session begins with a fetch. Who has jobs of an earlier one needs it to settle them, fetched or not."""
        if self._loans or self._gaps:
            return self._fetch(0 if self.is_closing else max(room, 0))
        self.is_closed |= self.is_closing
        return self._fetch(room) if room > 0 and self.wanted and not self.is_closing else None

    def _renewals(self, now: float) -> Acks:
        due = ((key, loan) for key, loan in self._loans.items() if loan.settlement is None and now >= loan.renew_at)
        return self._gathered({}, ((key, Settlement.RENEW) for key, _ in due))

    def _acks(self) -> Acks:
        gaps: Acks = {place: dict.fromkeys(offsets, Settlement.GAP) for place, offsets in self._gaps.items()}
        settled = ((key, loan.settlement) for key, loan in self._loans.items() if loan.settlement is not None)
        return self._gathered(gaps, settled)

    def _gathered(self, found: Acks, kinds: Iterable[tuple[tuple[Place, int], Settlement]]) -> Acks:
        """By partition; of one that has some to be sent by themselves, one of those."""
        alone: set[Place] = set()
        for key, kind in kinds:
            place, offset = key
            if place in alone:
                continue
            if key in self._one_by_one:
                found[place] = {}
                alone.add(place)
            found.setdefault(place, {})[offset] = kind
        return found

    def _fetch(self, room: int) -> tuple[Any, float]:
        wait_ms = BUSY_WAIT_MS if self._loans else FETCH_WAIT_MS
        gone = self._known - self.wanted
        topics = [
            share_fetch.FetchTopic(topic, [share_fetch.FetchPartition(index) for index in indexes])
            for topic, indexes in _by_topic(self.wanted - self._known)
        ]
        self._known = set(self.wanted)
        self.reserved = room
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            max_records=room,
            batch_size=room,
            share_acquire_mode=RECORD_LIMIT,
            topics=topics,
            forgotten_topics_data=[ForgottenTopic(topic, indexes) for topic, indexes in _by_topic(gone)],
        )
        self.is_asking = True
        return request, wait_ms / 1000

    def _acknowledge(self, epoch: int, acks: Acks, *, renews: bool) -> tuple[Any, float]:
        topics = [
            share_acknowledge.AcknowledgeTopic(
                topic,
                [
                    share_acknowledge.AcknowledgePartition(
                        index, _batches(acks[topic, index], self._delays((topic, index), acks[topic, index]))
                    )
                    for index in indexes
                ],
            )
            for topic, indexes in _by_topic(acks)
        ]
        self.is_asking = True
        self._known |= set(acks)
        self._sent, self._is_last = acks, epoch == CLOSING
        return ShareAcknowledgeRequest(self.group, self.member_id, epoch, renews, topics), 0.0

    def _delays(self, place: Place, kinds: dict[int, Settlement]) -> dict[int, int]:
        """For how long those are to wait that are released and say so."""
        released = (self._loans[place, offset] for offset, kind in kinds.items() if kind is Settlement.RELEASE)
        return {loan.job.offset: loan.job.delay_ms for loan in released if loan.job.delay_ms is not None}

    # -- answers

    def answered(self, answer: Any, now: float, began: float) -> None:
        """Take in what the broker says to the last request, which was sent at `began`."""
        self.is_asking = False
        self.reserved = 0
        sent, self._sent = self._sent, {}
        if answer.error_code:
            self._refused(answer, now)
        elif isinstance(answer, share_fetch.ShareFetchResponse):
            self._count()
            self._take_records(answer, now, began)
        else:
            self._count()
            self._take_outcomes(answer, sent, now, began)
            if self._is_last:
                self.lose("the session was closed before it was settled")

    def _count(self) -> None:
        self._epoch = 1 if self._epoch == LAST_EPOCH else self._epoch + 1

    def _refused(self, answer: Any, now: float) -> None:
        code = answer.error_code
        if code in FOR_GOOD:
            raise refusal(code, answer.error_message)
        if self._is_last:
            self.lose(f"the session could not be closed in order (error {code})")
            return
        self._epoch, self._known = OPENING, set()
        self.not_before = now + (LIMIT_RETRY_S if code == TOO_MANY_SESSIONS else RETRY_S)
        if code == NO_SESSION:
            for key in list(self._loans):
                self._lost(key, "the broker has ended the session")

    def _take_records(self, answer: Any, now: float, began: float) -> None:
        self._lock_s = answer.acquisition_lock_timeout_ms / 1000 or self._lock_s
        count = 0
        for topic in answer.responses:
            for data in topic.partitions:
                place = (topic.topic_id, data.partition_index)
                if data.error_code:
                    self._known.discard(place)
                    self.has_moved = True
                    self.not_before = now + RETRY_S
                elif data.acquired_records:
                    count += self._lend(place, data, now)
        if not count and now - began < BUSY_WAIT_MS / 2000:
            # Answered at once, with nothing: a broker that does not wait is not asked without end.
            self.not_before = max(self.not_before, now + RETRY_S)

    def _lend(self, place: Place, data: Any, now: float) -> int:
        jobs, gaps = jobs_in(data.records, data.acquired_records, self.names.get(place[0], ""), place, self.settle)
        for job in jobs:
            self._loans[place, job.offset] = _Loan(job, now + self._lock_s, now + self._lock_s / 2)
        if gaps:
            self._gaps.setdefault(place, set()).update(gaps)
        self.fresh += jobs
        return len(jobs) + len(gaps)

    def _take_outcomes(self, answer: Any, sent: Acks, now: float, began: float) -> None:
        for topic in answer.responses:
            for data in topic.partitions:
                place = (topic.topic_id, data.partition_index)
                kinds = sent.pop(place, {})
                if data.error_code:
                    self._failed(place, kinds, data.error_code, now)
                else:
                    self._succeeded(place, kinds, began)

    def _succeeded(self, place: Place, kinds: dict[int, Settlement], began: float) -> None:
        for offset, kind in kinds.items():
            key = (place, offset)
            if kind is Settlement.GAP:
                self._forget_gap(place, offset)
            elif kind is Settlement.RENEW:
                self._one_by_one.discard(key)
                if (renewed := self._loans.get(key)) is not None:
                    renewed.expires, renewed.renew_at = began + self._lock_s, began + self._lock_s / 2
            elif (loan := self._loans.pop(key, None)) is not None:
                self._one_by_one.discard(key)
                if loan.done is not None:
                    loan.done(None)

    def _failed(self, place: Place, kinds: dict[int, Settlement], code: int, now: float) -> None:
        if code in PASSING:
            self.not_before = now + RETRY_S
            for offset in kinds:
                loan = self._loans.get((place, offset))
                if loan is not None and now > loan.expires:
                    self._lost((place, offset), f"the broker could not write it down in time (error {code})")
            return
        if code == INVALID_RECORD_STATE and len(kinds) > 1:
            self._one_by_one |= {(place, offset) for offset in kinds}
        for offset, kind in kinds.items():
            key = (place, offset)
            if kind is Settlement.GAP:
                self._forget_gap(place, offset)
            elif kind is Settlement.RENEW:
                # It may be lost, or renewals may not be allowed: how it ends tells.
                self._stop_renewing(key, alone=len(kinds) == 1)
            elif code != INVALID_RECORD_STATE or len(kinds) == 1:
                self._one_by_one.discard(key)
                self._lost(key, f"it is not lent to this worker any more (error {code})")

    def _stop_renewing(self, key: tuple[Place, int], *, alone: bool) -> None:
        if (loan := self._loans.get(key)) is not None and alone:
            loan.renew_at = float("inf")
            self._one_by_one.discard(key)

    def _forget_gap(self, place: Place, offset: int) -> None:
        offsets = self._gaps.get(place, set())
        offsets.discard(offset)
        if not offsets:
            self._gaps.pop(place, None)


def _by_topic(places: Iterable[Place]) -> list[tuple[bytes, list[int]]]:
    found: dict[bytes, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return list(found.items())


def _batches(kinds: dict[int, Settlement], delays: dict[int, int]) -> list[Any]:
    """Runs of offsets, each with what becomes of every one; one delay is for all of a run."""
    batches: list[share_acknowledge.AcknowledgementBatch] = []
    for offset in sorted(kinds):
        delay_ms = delays.get(offset, NO_DELAY)
        is_next = batches and batches[-1].last_offset == offset - 1
        if is_next and batches[-1].tidegate_backoff_ms == delay_ms:
            batches[-1].last_offset = offset
            batches[-1].acknowledge_types.append(int(kinds[offset]))
        else:
            batches.append(share_acknowledge.AcknowledgementBatch(offset, offset, [int(kinds[offset])], delay_ms))
    return batches
