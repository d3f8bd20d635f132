"""How a line of input is taken apart: `%k:%v` finds key and value; `%v{base64}` and `%k{hex}` are decoded."""

import base64
import binascii
import re
from collections.abc import Callable

from tools.cli.errors import UsageMistake
from tools.cli.formats import as_bytes

LETTERS = "kvpTh"
_LETTER = re.compile(r"(%.(?:\{[^{}]*\})?)", re.DOTALL)
_PATTERNS: dict[str, bytes] = {"hex": b"(?:[0-9a-fA-F]{2})*", "base64": b"[A-Za-z0-9+/]*={0,2}"}

Parts = dict[str, bytes]


def compile_input(text: str) -> Callable[[bytes], Parts]:
    """A function that takes a line apart; the parts are `k`, `v`, `p`, `T` and `h`."""
    pattern = b""
    decoders: dict[str, Callable[[bytes], bytes]] = {}
    for piece in _LETTER.split(text):
        if not _LETTER.fullmatch(piece):
            pattern += re.escape(as_bytes(piece))
        elif piece.startswith("%%"):
            pattern += re.escape(as_bytes(piece[1:]))
        else:
            letter, modifier = _letter(piece, text, decoders)
            decoders[letter] = _decoder(modifier)
            pattern += b"(?P<%s>%s)" % (letter.encode(), _pattern(letter, modifier))
    whole = re.compile(pattern, re.DOTALL)

    def take_apart(line: bytes) -> Parts:
        match = whole.fullmatch(line)
        if match is None:
            shown = line[:60].decode("utf-8", "backslashreplace")
            raise UsageMistake(f"{shown!r} is not of the format {text!r}", "see --format")
        try:
            return {letter: decoders[letter](part) for letter, part in match.groupdict().items()}
        except (ValueError, binascii.Error) as error:
            raise UsageMistake(f"{error}", "see --format") from None

    return take_apart


def _letter(piece: str, text: str, known: dict[str, Callable[[bytes], bytes]]) -> tuple[str, str]:
    letter, modifier = piece[1], piece[3:-1]
    letter = "v" if letter == "s" else letter
    if letter not in LETTERS or letter in known:
        raise UsageMistake(f"{piece} cannot stand in the input format {text!r}", "use each of %k %v %p %T %h once")
    if modifier and (letter not in "kv" or not (modifier in _PATTERNS or modifier.isdecimal())):
        hint = "%k and %v take {hex}, {base64} or a length like {8}"
        raise UsageMistake(f"{piece} cannot stand in the input format {text!r}", hint)
    return letter, modifier


def _pattern(letter: str, modifier: str) -> bytes:
    if modifier.isdecimal():
        return b".{%s}" % modifier.encode()
    return b"[0-9]+" if letter in "pT" else _PATTERNS.get(modifier, b".*?")


def _decoder(modifier: str) -> Callable[[bytes], bytes]:
    if modifier == "hex":
        return lambda part: bytes.fromhex(part.decode("ascii"))
    if modifier == "base64":
        return lambda part: base64.b64decode(part, validate=True)
    return lambda part: part
