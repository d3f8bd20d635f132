"""The stage of the window of one share partition: a log of batches of ten, offsets 0 to 99, and a clock.

`group lock_duration_ms=5000 delivery_count_limit=3` (what the group obeys from now on), `log end=50 hollow=10,20`
(where the log ends; batches that hold nothing), `fetch as=A max=5 mode=record_limit batch=20`, `ack as=A 0-9=accept
10=release` (in one request), `write` (what has gathered is durable), `begin-write` and `end-write failed`, `advance
31000`, `leave as=A`, `log-start 30`, `letters 0-9` (they are in the dead-letter topic), `crash`, `state`, `durable`.
"""

from attrs import evolve

from coordinators.share.acks import AckBatch, AckType, check_acks
from engine.errors import BrokerError
from tests.coordinators.share.windows import Bench

Range = tuple[int, int]


class Stage:
    """Commands over one window."""

    def __init__(self) -> None:
        self.bench = Bench()

    def run(self, command: str, words: list[str], options: dict[str, str]) -> str:
        try:
            return str(getattr(self, "do_" + command.replace("-", "_"))(words, options))
        except BrokerError as error:
            return type(error).__name__

    def do_group(self, _words: list[str], options: dict[str, str]) -> str:
        values = {
            name: value in ("true",) if value in ("true", "false") else int(value) for name, value in options.items()
        }
        self.bench.settings = evolve(self.bench.settings, **values)
        return "ok"

    def do_log(self, _words: list[str], options: dict[str, str]) -> str:
        self.bench.log_end = int(options.get("end", self.bench.log_end))
        if "hollow" in options:
            self.bench.undelivered = {int(base) for base in options["hollow"].split(",")}
        return "ok"

    def do_fetch(self, _words: list[str], options: dict[str, str]) -> str:
        strict = options.get("mode") == "record_limit"
        most, batch_size = int(options.get("max", "500")), int(options.get("batch", "0"))
        taken = self.bench.take(options["as"], most, strict=strict, batch_size=batch_size)
        return (
            "\n".join(f"{_span(first, last)} for the {_TIMES[count]} time" for first, last, count in taken) or "nothing"
        )

    def do_ack(self, _words: list[str], options: dict[str, str]) -> str:
        member = options.pop("as")
        batches = []
        for name, kind in options.items():
            first, last = _range(name)
            types = [AckType[each.upper()] for each in kind.split(",")]
            batches.append(AckBatch(first, last, types))
        check_acks(batches, renewing=True)
        number = self.bench.window.acknowledge(member, batches, self.bench.settings, self.bench.now)
        return "done" if number is None else "waits for a write"

    def do_write(self, words: list[str], _options: dict[str, str]) -> str:
        self.bench.write(failed="failed" in words)
        return self._where()

    def do_begin_write(self, _words: list[str], _options: dict[str, str]) -> str:
        change = self.bench.begin()
        return "nothing to write" if change is None else "under way"

    def do_end_write(self, words: list[str], _options: dict[str, str]) -> str:
        self.bench.end(failed="failed" in words)
        return self._where()

    def do_advance(self, words: list[str], _options: dict[str, str]) -> str:
        self.bench.seconds += int(words[0]) / 1000
        expired = self.bench.expire()
        return f"{expired} locks ran out" if expired else "ok"

    def do_leave(self, _words: list[str], options: dict[str, str]) -> str:
        released = self.bench.window.release(options["as"], self.bench.settings, self.bench.now)
        return f"{released} released"

    def do_log_start(self, words: list[str], _options: dict[str, str]) -> str:
        self.bench.window.pass_log_start(int(words[0]))
        return self._where()

    def do_letters(self, words: list[str], _options: dict[str, str]) -> str:
        return "done" if self.bench.window.letters_written(*_range(words[0])) is None else "waits for a write"

    def do_crash(self, _words: list[str], _options: dict[str, str]) -> str:
        self.bench.restart()
        return self._where()

    def do_state(self, _words: list[str], _options: dict[str, str]) -> str:
        lines = []
        for run in self.bench.window.runs:
            owner = f" by {run.owner}" if run.owner else ""
            reason = f": {run.reason}" if run.reason else ""
            lines.append(f"{_span(run.first, run.last)} {run.state.name.lower()}{owner}, delivered {run.count}{reason}")
        return "\n".join([self._where(), *lines])

    def do_durable(self, _words: list[str], _options: dict[str, str]) -> str:
        durable = self.bench.durable
        lines = [
            f"{_span(each.first_offset, each.last_offset)} {each.state.name.lower()}, delivered {each.delivery_count}"
            for each in durable.batches
        ]
        return "\n".join([f"start {durable.start_offset}, {durable.complete_count} complete", *lines])

    def _where(self) -> str:
        window = self.bench.window
        return f"start {window.start}, end {window.end}"


_TIMES = ["", "first", "second", "third", "fourth", "fifth"]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _range(text: str) -> Range:
    first, _, last = text.partition("-")
    return int(first), int(last or first)
