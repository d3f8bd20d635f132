"""The stage of transactions: producers are told by name, identities are remembered unless given."""

from coordinators.transaction.transaction import ProducerIdentity, TopicPartition, Transaction
from engine.errors import BrokerError
from tests.coordinators.transaction.world import World


def place_of(text: str) -> TopicPartition:
    topic, index = text.rsplit("-", 1)
    return topic, int(index)


class Stage:
    """Commands over a world. `as=` names a client; without producer= and epoch= it speaks with what it was told."""

    def __init__(self) -> None:
        self.world = World()
        self.known: dict[str, ProducerIdentity] = {}
        self.sequences: dict[tuple[ProducerIdentity, TopicPartition], int] = {}

    def run(self, command: str, words: list[str], options: dict[str, str]) -> str:
        try:
            said = getattr(self, f"do_{command}")(words, options)
        except BrokerError as error:
            return type(error).__name__
        return self.said(said)

    def said(self, answer: object) -> str:
        if isinstance(answer, BrokerError):
            return type(answer).__name__
        if isinstance(answer, ProducerIdentity):
            return f"producer {answer.producer_id} epoch {answer.epoch}"
        if answer is None:
            return "ok"
        return str(answer)

    def client(self, options: dict[str, str]) -> str:
        return options.get("as", options["id"])

    def producer(self, options: dict[str, str]) -> ProducerIdentity:
        known = self.known.get(self.client(options), ProducerIdentity(-1, -1))
        return ProducerIdentity(int(options.get("producer", known.producer_id)), int(options.get("epoch", known.epoch)))

    def told(self, options: dict[str, str], answer: object) -> object:
        if isinstance(answer, ProducerIdentity):
            self.known[self.client(options)] = answer
        return answer

    # -- commands

    def do_create(self, words: list[str], _options: dict[str, str]) -> None:
        for word in words:
            self.world.create(word, 2)

    def do_init(self, words: list[str], options: dict[str, str]) -> object:
        expected = self.producer(options) if "resume" in words else None
        return self.told(options, self.world.init(options["id"], int(options.get("timeout", "60000")), expected))

    def do_add(self, words: list[str], options: dict[str, str]) -> object:
        version = int(options.get("version", "0"))
        places = [place_of(word) for word in words]
        return self.world.add(options["id"], self.producer(options), *places, version=version)

    def do_offsets(self, _words: list[str], options: dict[str, str]) -> object:
        transactions = self.world.transactions
        return self.world.heard(transactions.add_offsets(options["id"], self.producer(options), options["group"]))

    def do_write(self, words: list[str], options: dict[str, str]) -> object:
        producer, place = self.producer(options), place_of(words[0])
        sequence = self.sequences.get((producer, place), 0)
        result = self.world.write(options["id"], producer, place, words[1], sequence)
        self.sequences[producer, place] = sequence + 1
        return f"offset {result.base_offset}"

    def do_commit(self, _words: list[str], options: dict[str, str]) -> object:
        return self._end(options, commit=True)

    def do_abort(self, _words: list[str], options: dict[str, str]) -> object:
        return self._end(options, commit=False)

    def _end(self, options: dict[str, str], *, commit: bool) -> object:
        version = int(options.get("version", "0"))
        answer = self.world.end(options["id"], self.producer(options), commit=commit, version=version)
        if version >= 2:
            self.told(options, answer)
            return answer
        return "ok" if isinstance(answer, ProducerIdentity) else answer

    def do_commit_offset(self, words: list[str], options: dict[str, str]) -> object:
        answer = self.world.commit_offset(
            options["group"], self.producer(options), place_of(words[0]), int(options["offset"])
        )
        return "ok" if answer == [None] else answer

    def do_fetch_offset(self, words: list[str], options: dict[str, str]) -> object:
        found = self.world.fetch_offset(options["group"], place_of(words[0]), stable="unstable" not in words)
        return found.error if found.error is not None else f"offset {found.offset}"

    def do_read(self, words: list[str], _options: dict[str, str]) -> str:
        place = place_of(words[0])
        committed, everything = self.world.read(place, committed=True), self.world.read(place)
        stable = self.world.partition(place).last_stable_offset
        return (
            f"committed   {' '.join(committed) or '-'}\nuncommitted {' '.join(everything) or '-'}\nstable to   {stable}"
        )

    def do_describe(self, _words: list[str], options: dict[str, str]) -> object:
        found = self.world.heard(self.world.transactions.describe(options["id"]))
        if not isinstance(found, Transaction):
            return found
        places = " ".join(f"{topic}-{index}" for topic, index in sorted(found.partitions))
        return f"{found.state.label} producer {found.producer_id} epoch {found.epoch} {places}"

    def do_advance(self, words: list[str], _options: dict[str, str]) -> None:
        self.world.advance(int(words[0]))

    def do_hold(self, _words: list[str], _options: dict[str, str]) -> None:
        """From now on nothing becomes durable."""
        self.world.hold = True

    def do_release(self, _words: list[str], _options: dict[str, str]) -> None:
        self.world.hold = False
        self.world.settle()

    def do_sync(self, _words: list[str], _options: dict[str, str]) -> None:
        """One round of syncs, while all else is held."""
        self.world.rounds.start_round()
        self.world.disk.run_held(1)

    def do_crash(self, _words: list[str], _options: dict[str, str]) -> None:
        self.world.hold = False
        self.world.crash()
        self.world.settle()
