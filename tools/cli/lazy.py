"""Commands that are imported when they are called: whoever asks for one does not wait for what the others need.

The names and the sentences that help and completion show are known without loading anything.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from attrs import frozen
from typer.core import TyperCommand

from tools.cli.framework import Command, Group, command


@frozen
class Later:
    """A command, or a subject with commands of its own, in `tools.cli.commands`."""

    help: str
    """Its first sentence, as the module has it too."""
    panel: str
    module: str
    function: str | None = None
    """The command; a subject is the module's `app`."""
    cls: type[Command] = Command

    def load(self, name: str) -> Any:
        """The command itself."""
        module = import_module(f"tools.cli.commands.{self.module}")
        if self.function is None:
            module.app.info.name = name
            return typer.main.get_group(module.app)
        holder = typer.Typer(add_completion=False, rich_markup_mode="rich")
        examples = getattr(module, f"{self.function.upper()}_EXAMPLES", None) or module.EXAMPLES
        settings = getattr(module, "SETTINGS", None)
        command(holder, name, examples=examples, cls=self.cls, context_settings=settings)(
            getattr(module, self.function)
        )
        return typer.main.get_command(holder)


class Root(Group):
    """All commands, each loaded when it is called."""

    later: ClassVar[Mapping[str, Later]] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.commands = {
            name: TyperCommand(name=name, help=each.help, rich_help_panel=each.panel)
            for name, each in self.later.items()
        }
        self._loaded: set[str] = set()

    def load(self, name: str) -> None:
        """Put the command itself where only its name was."""
        if name in self.later and name not in self._loaded:
            self.commands[name] = self.later[name].load(name)
            self._loaded.add(name)

    def load_all(self) -> None:
        """For the documentation."""
        for name in self.later:
            self.load(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args:
            self.load(args[0])
        return super().resolve_command(ctx, args)
