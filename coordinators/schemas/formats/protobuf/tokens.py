"""The words of a `.proto` text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from coordinators.schemas.formats.format import InvalidSchema

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<sign>[-+{}\[\]()<>=;:,./])""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
END = ""


class Token(NamedTuple):
    """A word and where it stands."""

    kind: str
    word: str
    line: int


class Tokens:
    """The words of a text, one after the other."""

    def __init__(self, text: str) -> None:
        self._rest = _read(text)
        self.next = next(self._rest)

    def take(self) -> Token:
        """The next word."""
        taken = self.next
        if taken.kind != END:
            self.next = next(self._rest)
        return taken

    def takes(self, word: str) -> bool:
        """Whether the next word is this one, which is taken then."""
        if self.next.word != word or self.next.kind == "text":
            return False
        self.take()
        return True

    def expect(self, word: str) -> None:
        """Take this word."""
        if not self.takes(word):
            raise self.unexpected(repr(word))

    def name(self) -> str:
        """Take a simple name."""
        return self._of_kind("name", "a name")

    def names(self) -> str:
        """Take names with dots between them, perhaps one in front."""
        name = "." if self.takes(".") else ""
        name += self.name()
        while self.takes("."):
            name += f".{self.name()}"
        return name

    def text(self) -> str:
        """Take a text; several in a row are one."""
        text = ""
        while self.next.kind == "text" or not text:
            text += unescaped(self._of_kind("text", "a text in quotes"))
            if self.next.kind != "text":
                break
        return text

    def integer(self) -> int:
        """Take a whole number, with its sign."""
        sign = -1 if self.takes("-") else 1
        word = self._of_kind("number", "a number")
        try:
            return sign * (int(word, 8) if word[0] == "0" and word.isdecimal() else int(word, 0))
        except ValueError:
            raise InvalidSchema(f"line {self.next.line}: {word} is no whole number") from None

    def unexpected(self, wanted: str) -> InvalidSchema:
        """What to raise where something else is expected."""
        found = self.next.word or "the end"
        return InvalidSchema(f"line {self.next.line}: {wanted} is expected where {found:.60} stands")

    def _of_kind(self, kind: str, wanted: str) -> str:
        if self.next.kind != kind:
            raise self.unexpected(wanted)
        return self.take().word


def _read(text: str) -> Iterator[Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidSchema(f"line {line}: {text[position : position + 20]!r} is nothing that Protobuf knows")
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match.group(), line)
        line += match.group().count("\n")
        position = match.end()
    while True:
        yield Token(END, "", line)


def unescaped(quoted: str) -> str:
    """What stands between quotes."""
    try:
        return _ESCAPE.sub(_letter, quoted[1:-1])
    except (ValueError, OverflowError):
        raise InvalidSchema(f"{quoted:.60} holds no character") from None


def _letter(match: "re.Match[str]") -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match[group]:
            return chr(int(match[group], base))
    return _LETTERS.get(match[5], match[5])
