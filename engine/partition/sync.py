"""Sync rounds: group commit over all partitions that were written.

A sync costs about the same for one record as for a thousand, so many writes share it. Every append marks its partition.
A round takes all partitions that are marked, makes them durable, and tells each of them; what is written meanwhile goes
into the next round. Only one round is under way at a time: a disk has one queue, two rounds would only slow each other
down, and answers that become ready together are sent together.
A round becomes durable by one write to the journal (engine/journal/journal.py), or else by syncing its files.

But for what is heavy: much that was written to one partition, or what the journal cannot take. That is synced in rounds
of its own, file by file, beside the others, so that whoever has written little waits for no more than a short write.
What is under way there, or would be next, is in no other round meanwhile (ADR 0059).
"""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeAlias, cast

from engine.files.files import File
from engine.files.kernel_sync import MOST_UNDER_WAY, KernelSync
from engine.journal.format import JournalPiece
from engine.journal.journal import Journal, Owner
from engine.metrics import Histogram
from engine.workers import Workers

logger = logging.getLogger("tidegate.sync")

Outcomes = list[BaseException | None]
"""Per ticket: None, or why it is not durable."""

ONE_BY_ONE = 2
"""How many tickets are synced file by file; for more, a sync of the whole file system costs less."""

SLOW_WHOLE_SYNC_S = 0.02
"""A sync of the whole file system that takes longer has met somebody else's writes."""

AVOID_WHOLE_SYNC_S = 5.0

HEAVY_BYTES = 512 * 1024
"""So much of one partition is not written a second time, to the journal."""


class Ticket(Protocol):
    """What was dirty at one moment, ready to be synced in a thread."""

    @property
    def only_files(self) -> Sequence[File] | None:
        """The files, if syncing them is all there is to do."""

    @property
    def piece(self) -> JournalPiece | None:
        """What a journal has to hold instead; None if that will not do."""

    def run(self) -> None:
        """Sync files and directories; raises OSError."""


class Syncable(Protocol):
    """Something that is written and must be made durable."""

    is_patient: bool
    """Whether what follows its sync takes a while: others are told first, and the next round begins before."""

    def capture_sync(self) -> Ticket:
        """What is dirty now."""

    def synced(self, ticket: Ticket, *, settled: bool = True) -> None:
        """All of the ticket is durable; `settled` in its own files, else in the journal."""

    def sync_failed(self, error: BaseException) -> None:
        """The kernel may have dropped what was written; nothing of it may be trusted."""

    @property
    def settling(self) -> bool | None:
        """Whether it can be synced now; None if it never need be, for it is removed."""


Drawn: TypeAlias = tuple[Syncable, Ticket]
Told: TypeAlias = tuple[Syncable, Ticket, BaseException | None]


class RoundSync:
    """Makes the tickets of a round durable, in the way that costs least: many by one sync of their file system, few
    file by file; that by the kernel, if it can, else in threads."""

    def __init__(
        self,
        thread_count: int,
        whole: Callable[[], None] | None = None,
        now: Callable[[], float] = lambda: 0.0,
        kernel: KernelSync | None = None,
    ) -> None:
        self._whole = whole
        self._whole_lock = threading.Lock()
        self.now = now
        self._kernel = kernel
        self._avoid_whole_until = 0.0
        self._pool = ThreadPoolExecutor(thread_count, "sync")
        self.durations = Histogram()
        """How long each round took the disk, in seconds."""

    def begin(self, tickets: Sequence[Ticket], done: Callable[[Outcomes], None]) -> bool:
        """Have the kernel do it, and `done` be called; False if it takes a thread."""
        return not self._wants_whole(tickets) and self.begin_files(tickets, done, self.durations)

    def begin_files(
        self, tickets: Sequence[Ticket], done: Callable[[Outcomes], None], durations: Histogram | None = None
    ) -> bool:
        """The same file by file, however many there are."""
        if self._kernel is None or len(tickets) > MOST_UNDER_WAY:
            return False
        files = _begun(tickets)
        if not files:
            return False
        outcomes: Outcomes = [None] * len(tickets)
        left, began = len(files), self.now()

        def ended(place: int, error: OSError | None) -> None:
            nonlocal left
            number, file, _ = files[place]
            file.end_sync(error)
            outcomes[number] = outcomes[number] or error
            left -= 1
            if left == 0:
                if durations is not None:
                    durations.observe(self.now() - began)
                done(outcomes)

        self._kernel.submit([descriptor for _, _, descriptor in files], ended)
        return True

    def run(self, tickets: Sequence[Ticket]) -> Outcomes:
        """[thread] The same by ourselves."""
        began, whole = self.now(), self._wants_whole(tickets)
        outcomes = self._run(tickets, whole)
        took = self.now() - began
        self.durations.observe(took)
        if whole and took > SLOW_WHOLE_SYNC_S:
            self._avoid_whole_until = self.now() + AVOID_WHOLE_SYNC_S
        return outcomes

    def run_unhurried(self, tickets: Sequence[Ticket]) -> Outcomes:
        """[thread] The same for what nobody waits for."""
        return self._run(tickets, self._whole is not None and len(tickets) > ONE_BY_ONE)

    def _run(self, tickets: Sequence[Ticket], whole: bool) -> Outcomes:
        if len(tickets) <= ONE_BY_ONE:
            return [_outcome(ticket) for ticket in tickets]
        if whole and self._sync_whole():
            return [None] * len(tickets)
        return list(self._pool.map(_outcome, tickets))

    def _wants_whole(self, tickets: Sequence[Ticket]) -> bool:
        return self._whole is not None and len(tickets) > ONE_BY_ONE and self.now() >= self._avoid_whole_until

    def _sync_whole(self) -> bool:
        """Whether everything is durable. If not, each ticket is asked: only its own files count."""
        # One at a time: of two threads only one would be told of an error, and the other believe its files synced.
        with self._whole_lock:
            whole = self._whole
            if whole is None:
                return False
            try:
                whole()
            except OSError:
                # It told of an error once, perhaps of a file that is not of this round. From now on files are asked.
                self._whole = None
                return False
            return True

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def _begun(tickets: Sequence[Ticket]) -> list[tuple[int, File, int]]:
    """The tickets' files, whose sync is begun, with the number of their ticket and their descriptor. None of them where
    one cannot be left to the kernel."""
    begun: list[tuple[int, File, int]] = []
    for number, ticket in enumerate(tickets):
        for file in ticket.only_files or (None,):
            descriptor = None if file is None else file.begin_sync()
            if file is None or descriptor is None:
                for _, other, _ in begun:
                    other.end_sync(None)
                return []
            begun.append((number, file, descriptor))
    return begun


def _outcome(ticket: Ticket) -> BaseException | None:
    try:
        ticket.run()
    except Exception as error:
        return error
    return None


class Answers(Protocol):
    """What is answered to clients when a round ends: collected, and sent once, however many records it made durable."""

    def collect(self) -> None:
        """Outcomes follow."""

    def send(self) -> None:
        """All of them have been told."""


class SyncRounds:
    """Marks, and one round at a time."""

    def __init__(
        self,
        workers: Workers,
        on_marked: Callable[[], object],
        round_sync: RoundSync | None = None,
        journal: Journal | None = None,
        settle_workers: Workers | None = None,
        answers: Answers | None = None,
    ) -> None:
        self._workers = workers
        self._journal = journal
        self._settle_workers = settle_workers or workers
        self._on_marked = on_marked
        self._round_sync = round_sync or RoundSync(1)
        self._marked: dict[Syncable, None] = {}
        self._under_way = False
        self._heavy: dict[Syncable, None] = {}
        """What is synced beside the rounds now."""
        self._postponed: dict[Syncable, None] = {}
        """What takes part in the next round of heavy ones."""
        self._rounds = 0
        self._syncs = 0
        self._failures = 0
        self._answers = answers
        self._held = False

    def mark(self, item: Syncable) -> None:
        """`item` was written: it takes part in the next round."""
        if not self._marked and not self._under_way and not self._held:
            self._on_marked()
        self._marked[item] = None

    def hold(self) -> None:
        """Several requests are handled in a row: what they write waits for `release`, and is synced together."""
        self._held = True

    def release(self) -> None:
        """The last of them has been handled."""
        self._held = False
        self.start_round()

    def forget(self, item: Syncable) -> None:
        """It was removed: nobody waits for its syncs, and nothing of it is kept."""
        self._marked.pop(item, None)
        self._postponed.pop(item, None)
        if self._journal is not None:
            self._journal.forget(item)

    def start_round(self) -> None:
        """Begin a round with everything that is marked, unless one is under way: the next follows it by itself."""
        if self._under_way or not self._marked:
            return
        items = list(self._marked)
        self._marked.clear()
        if self._heavy:
            items = self._without_heavy(items)
        journal = self._journal
        if journal is None:
            self._begin([(item, item.capture_sync()) for item in items])
        else:
            self._journal_round(items, journal)

    def _without_heavy(self, items: Sequence[Syncable]) -> list[Syncable]:
        """What is under way beside the rounds would be in two at once: it comes after."""
        again = [item for item in items if item in self._heavy]
        self._postponed.update(dict.fromkeys(again))
        return [item for item in items if item not in self._heavy]

    def _begin(self, drawn: Sequence[Drawn]) -> None:
        """A round of these, by syncing their files."""
        if drawn:
            self._count(drawn)
            self._sync(drawn, self._end_round)

    def _count(self, drawn: Sequence[Drawn]) -> None:
        self._under_way = True
        self._rounds += 1
        self._syncs += len(drawn)

    def _journal_round(self, items: Sequence[Syncable], journal: Journal) -> None:
        """Have the journal make durable what is light, and sync what is not beside it."""
        light: list[Drawn] = []
        heavy: list[Drawn] = []
        owners: list[Syncable] = []
        pieces: list[JournalPiece] = []
        for item in items:
            ticket = item.capture_sync()
            piece = ticket.piece
            if piece is not None and 0 < piece.size <= HEAVY_BYTES:
                owners.append(item)
                pieces.append(piece)
            elif ticket.only_files != ():
                heavy.append((item, ticket))
                continue
            # Else others have synced it meanwhile, for a snapshot: nothing is left to do.
            light.append((item, ticket))
        if heavy:
            self._begin_heavy(heavy, journal)
        if not pieces:
            self._begin(light)
            return
        self._count(light)
        began = self._round_sync.now()

        def taken(error: OSError | None) -> None:
            if error is not None:
                self._sync(light, self._end_round)
                return
            self._round_sync.durations.observe(self._round_sync.now() - began)
            self._end_round([(item, ticket, None) for item, ticket in light], settled=False)

        if not journal.take(owners, pieces, taken):
            self._sync(light, self._end_round)

    def _begin_heavy(self, drawn: Sequence[Drawn], journal: Journal) -> None:
        """A round beside the others, unless there is one: then they are part of the next."""
        items = dict.fromkeys(item for item, _ in drawn)
        if self._heavy:
            self._postponed.update(items)
            return
        journal.prepare()
        self._heavy = items
        self._rounds += 1
        self._syncs += len(drawn)
        self._sync(drawn, self._end_heavy)

    def _end_heavy(self, told: Sequence[Told], *, settled: bool) -> None:
        self._heavy = {}
        self._marked.update(self._postponed)
        self._postponed = {}
        self._tell(told, settled)
        self.start_round()

    def _sync(self, drawn: Sequence[Drawn], end: Callable[..., None]) -> None:
        tickets = [ticket for _, ticket in drawn]

        def done(outcomes: Outcomes, failure: BaseException | None = None) -> None:
            if failure is not None:
                outcomes = [failure] * len(drawn)
            told = [(item, ticket, error) for (item, ticket), error in zip(drawn, outcomes, strict=True)]
            end(told, settled=True)

        if not self._round_sync.begin(tickets, done):
            self._workers.submit(lambda: self._round_sync.run(tickets), done)

    def _end_round(self, told: Sequence[Told], *, settled: bool) -> None:
        self._under_way = False
        self._tell([one for one in told if not one[0].is_patient], settled)
        self.start_round()
        self._tell([one for one in told if one[0].is_patient], settled)
        self.start_round()

    def settle(self, owners: Sequence[Owner], settled: Callable[[Sequence[Owner]], object]) -> None:
        """Sync the files of these partitions beside the rounds, then tell which could not be: for the journal, which
        has bytes of them, and for who wants to close their files."""
        items = [owner for owner in cast(Sequence[Syncable], owners) if owner.settling is not None]
        failed: list[Owner] = [item for item in items if not item.settling]
        drawn = [(item, item.capture_sync()) for item in items if item.settling]
        # Others may have synced it already, for a snapshot or in a round.
        drawn = [(item, ticket) for item, ticket in drawn if ticket.only_files is None or ticket.only_files]
        tickets = [ticket for _, ticket in drawn]

        def done(outcomes: Outcomes, failure: BaseException | None = None) -> None:
            if failure is not None:
                outcomes = [failure] * len(tickets)
            told = [(item, ticket, error) for (item, ticket), error in zip(drawn, outcomes, strict=True)]
            failed.extend(item for item, _, error in told if error is not None)
            self._tell(told, True)
            settled(failed)

        if not self._round_sync.begin_files(tickets, done):
            self._settle_workers.submit(lambda: self._round_sync.run_unhurried(tickets), done)

    def _tell(self, told: Sequence[Told], settled: bool) -> None:
        if not told:
            return
        answers = self._answers
        if answers is not None:
            answers.collect()
        try:
            for item, ticket, error in told:
                self._tell_one(item, ticket, error, settled)
        finally:
            if answers is not None:
                answers.send()

    def _tell_one(self, item: Syncable, ticket: Ticket, error: BaseException | None, settled: bool) -> None:
        try:
            if error is None:
                item.synced(ticket, settled=settled)
                return
            self._failures += 1
            self._marked.pop(item, None)
            item.sync_failed(error)
        except Exception:
            # A bug of one partition, or of somebody who waited for it; the others of the round are told all the same.
            logger.exception("what follows a sync failed")

    @property
    def durations(self) -> Histogram:
        """How long each round took the disk, in seconds."""
        return self._round_sync.durations

    def idle(self) -> bool:
        """Nothing marked and nothing under way."""
        is_busy = self._marked or self._under_way or self._heavy
        return not is_busy and (self._journal is None or self._journal.idle())

    def statistics(self) -> dict[str, int]:
        """Rounds, syncs, failures, and what is under way."""
        return {
            "rounds": self._rounds,
            "syncs": self._syncs,
            "failures": self._failures,
            "marked": len(self._marked) + len(self._postponed),
            "under_way": int(self._under_way) + bool(self._heavy),
            **{
                f"journal_{name}": value
                for name, value in (self._journal.statistics() if self._journal else {}).items()
            },
        }
