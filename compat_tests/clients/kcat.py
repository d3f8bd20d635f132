"""kcat, the command-line client on librdkafka (Debian's is of 2022: an old librdkafka, on purpose)."""

import subprocess
from collections.abc import Sequence
from itertools import groupby

from compat_tests.clients.base import Consumed, Header, Record

# Bytes that scenarios do not use inside keys and values.
KEY_END, RECORD_END = b"\x1f", b"\x1e"
FORMAT = r"%p %o %T %K %S %h\n%k%s\n"


class Kcat:
    """Takes its own timestamps, and sends no key that is empty but not null."""

    name = "kcat"

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        for (partition, headers, _), group in groupby(records, _same_call):
            arguments = ["-t", topic, "-p", str(partition), "-z", codec, "-X", "acks=all"]
            for name, value in headers:
                arguments += ["-H", name if value is None else f"{name}={value.decode()}"]
            lines = list(group)
            if lines[0].value is None:
                arguments.append("-Z")
            kcat(bootstrap, "-P", "-D", r"\x1e", "-K", r"\x1f", *arguments, stdin=_input(lines))

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        where = ["-t", topic, "-p", str(partition), "-o", str(offset)]
        output = kcat(bootstrap, "-C", "-q", *where, "-c", str(count), "-e", "-f", FORMAT)
        return list(_parse(output))


def kcat(bootstrap: str, *arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
    """Runs kcat; gives its standard output."""
    done = run_kcat(bootstrap, *arguments, stdin=stdin)
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def run_kcat(bootstrap: str, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["kcat", "-b", bootstrap, *arguments], input=stdin, capture_output=True, timeout=60, check=False
    )


def _same_call(record: Record) -> tuple[int, tuple[Header, ...], bool]:
    """What kcat takes once per call, and not per record."""
    return record.partition, record.headers, record.value is None


def _input(records: Sequence[Record]) -> bytes:
    return b"".join(
        (b"" if record.key is None else record.key + KEY_END) + (record.value or b"") + RECORD_END for record in records
    )


def _parse(output: bytes) -> list[Consumed]:
    found = []
    while output:
        line, output = output.split(b"\n", 1)
        partition, offset, timestamp, key_size, value_size, headers = line.split(b" ", 5)
        key, output = _take(output, int(key_size))
        value, output = _take(output, int(value_size))
        assert output[:1] == b"\n"
        output = output[1:]
        found.append(Consumed(int(offset), key, value, _headers(headers), int(timestamp), int(partition)))
    return found


def _take(output: bytes, size: int) -> tuple[bytes | None, bytes]:
    if size < 0:
        return None, output.removeprefix(b"NULL")
    return output[:size], output[size:]


def _headers(text: bytes) -> tuple[Header, ...]:
    pairs = [pair.split(b"=", 1) for pair in text.split(b",") if pair]
    return tuple((name.decode(), None if value == b"NULL" else value) for name, value in pairs)
