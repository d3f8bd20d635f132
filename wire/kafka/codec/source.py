"""Holds the text of a function while it is generated, and remembers which field each line belongs to.

When the function fails, the line number in the traceback names the field: an error says where it is without
any bookkeeping while messages are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from types import TracebackType
from typing import Any

from attrs import define, field


@define
class Source:
    """Lines of Python under construction, and the names that they use."""

    file_name: str
    lines: list[str] = field(factory=list)
    paths: list[str] = field(factory=list)
    names: dict[str, Any] = field(factory=dict)
    path: str = ""
    _depth: int = 0
    _counter: int = 0

    def add(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)
        self.paths.append(self.path)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A compound statement: what is added inside is indented."""
        self.add(head)
        self._depth += 1
        yield
        self._depth -= 1

    def add_span(self, line: str, paths: list[str]) -> None:
        """Adds a line that belongs to all these fields."""
        self.lines.append("    " * self._depth + line)
        self.paths.append(paths[0] if paths[0] == paths[-1] else f"{paths[0]} to {paths[-1]}")

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """What is added inside belongs to this field."""
        outer = self.path
        self.path = f"{outer}.{name}" if outer else name
        yield
        self.path = outer

    def fresh(self, stem: str) -> str:
        """A name that nobody else uses."""
        self._counter += 1
        return f"{stem}{self._counter}"

    def struct(self, formats: str, method: str) -> str:
        """The name of a method of a precompiled big-endian struct, such as `unpack_from`."""
        name = f"{method}_{formats.replace('?', 'o')}"
        self.names[name] = getattr(Struct(">" + formats), method)
        return name

    def constant(self, stem: str, value: Any) -> str:
        """The name under which the function finds a value."""
        for name, known in self.names.items():
            if known is value:
                return name
        name = stem if stem not in self.names else self.fresh(stem)
        self.names[name] = value
        return name

    def compile(self, function: str) -> Any:
        code = compile("\n".join(self.lines), self.file_name, "exec")
        exec(code, self.names)
        return self.names[function]

    def path_of(self, traceback: TracebackType | None) -> str:
        """The field at which the generated function was when this was raised."""
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.file_name:
                return self.paths[traceback.tb_lineno - 1]
            traceback = traceback.tb_next
        return ""
