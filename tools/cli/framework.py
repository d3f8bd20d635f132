"""What all commands share: options for where the broker is and how to print, examples in the help, errors in one line.

The shared options are taken before a command and after it: `tidegate -o json topic list` and
`tidegate topic list -o json` are the same.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

import typer
from attrs import frozen
from typer.core import TyperCommand, TyperGroup

from tools.cli import profiles
from tools.cli.errors import CliError, Ended, Exit
from tools.cli.output import Format, Output, printable
from tools.cli.profiles import DEFAULT_BOOTSTRAP, DEFAULT_TIMEOUT_S, Profile
from tools.cli.quick import quickened

Function = TypeVar("Function", bound=Callable[..., Any])
PANEL = "Where and how"
DEBUG = f"{profiles.ENVIRONMENT_PREFIX}DEBUG"
"""The variable that makes a traceback of what is no ordinary error."""
_META = "tidegate.shared"
_EXAMPLES = "tidegate_examples"
# typer carries its own copy of click, and of its exceptions offers only this one by name.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

Bootstrap = Annotated[
    str | None,
    typer.Option("--bootstrap", "-b", metavar="HOST:PORT,...", help="Kafka addresses.", rich_help_panel=PANEL),
]
Http = Annotated[
    str | None,
    typer.Option("--http", metavar="URL", help="The operations door; else the broker is asked.", rich_help_panel=PANEL),
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A profile of the file.", rich_help_panel=PANEL)
]
OutputFormat = Annotated[
    Format | None, typer.Option("--output", "-o", help="How results are printed.", rich_help_panel=PANEL)
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", help="How long to wait.", rich_help_panel=PANEL)
]


@frozen
class Session:
    """What a command works with."""

    profile: Profile
    output: Output

    def now_ms(self) -> int:
        """Wall time."""
        return time.time_ns() // 1_000_000


def _shared(
    bootstrap: Bootstrap = None,
    http: Http = None,
    profile: ProfileName = None,
    output: OutputFormat = None,
    timeout: Timeout = None,
) -> None:
    """The options that every command takes."""


@cache
def _shared_params() -> tuple[Any, ...]:
    holder = typer.Typer(add_completion=False)
    holder.command()(_shared)
    return tuple(typer.main.get_command(holder).params)


SHARED = ("bootstrap", "http", "profile", "output", "timeout")


def _remember(context: Any) -> None:
    """Move the shared options out of the command's own; what stands further right wins."""
    kept = context.meta.setdefault(_META, {})
    for name in SHARED:
        value = context.params.pop(name, None)
        if value is not None:
            kept[name] = value


class Command(TyperCommand):
    """A command with the shared options and its examples."""

    shares: ClassVar[Sequence[str]] = SHARED

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **named: Any) -> None:
        shared = [each for each in _shared_params() if each.name in self.shares]
        super().__init__(*arguments, params=[*(params or []), *shared], **named)

    def get_params(self, ctx: Any) -> list[Any]:
        return quickened(super().get_params(ctx))

    @property
    def examples(self) -> Sequence[str]:
        """Lines for a shell."""
        return getattr(self.callback, _EXAMPLES, ())

    def invoke(self, ctx: Any) -> Any:
        _remember(ctx)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has enough, as `head` does.
            _forget_output()
            raise typer.Exit(Exit.OK) from None
        except OSError as error:
            said = error.strerror or str(error)
            if error.filename:
                raise CliError(f"{error.filename}: {said}") from error
            # A full disk, mostly, where the output goes to.
            _forget_output()
            raise CliError(said, "is there room where the output goes to?") from error
        except KeyboardInterrupt:
            # The terminal has drawn ^C: what comes next begins a line of its own.
            if sys.stderr.isatty():
                sys.stderr.write("\n")
            raise typer.Exit(Exit.INTERRUPTED) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        if self.examples:
            lines = "\n".join(f"   {line}" for line in self.examples)
            sys.stdout.write(f" Examples:\n\n{lines}\n\n")


class OfflineCommand(Command):
    """A command that talks to no broker."""

    shares = ("output",)


class ServeCommand(Command):
    """A command that is a broker."""

    shares = ()


class Group(TyperGroup):
    """Commands of one subject; the outermost one says errors in one line."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **named: Any) -> None:
        super().__init__(*arguments, params=[*(params or []), *_shared_params()], **named)

    def get_params(self, ctx: Any) -> list[Any]:
        return quickened(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        _remember(ctx)
        return super().invoke(ctx)

    def main(self, args: Any = None, prog_name: Any = None, *, standalone_mode: bool = True, **named: Any) -> Any:  # type: ignore[override]
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **named)
        try:
            status = super().main(args, prog_name, standalone_mode=False, **named)
        except CliError as error:
            _say(error.line())
            status = error.status
        except _UsageError as error:
            if str(error):
                _say(_usage_line(error))
            status = Exit.USAGE
        except Ended as ended:
            status = ended.status
        except (typer.Abort, KeyboardInterrupt):
            _say("\ntidegate: given up; nothing was done")
            status = Exit.INTERRUPTED
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            said = printable(" ".join(f"{type(error).__name__}: {error}".split()))
            _say(f"tidegate: this should not happen: {said}; please report it with what {DEBUG}=1 shows")
            status = Exit.FAILED
        sys.exit(int(status) if isinstance(status, int) else Exit.OK)


def _forget_output() -> None:
    """What is still buffered goes nowhere; else the interpreter would try again at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _usage_line(error: Any) -> str:
    said = " ".join(str(error.format_message()).split()).rstrip(".").replace("Value error, ", "")
    path = error.ctx.command_path if error.ctx is not None else "tidegate"
    return printable(f"tidegate: {said}; see '{path} --help'")


def group(help_text: str) -> typer.Typer:
    """A subject with commands of its own."""
    return typer.Typer(cls=Group, help=help_text, no_args_is_help=True, rich_markup_mode="rich")


def command(
    app: typer.Typer, name: str, *, examples: Sequence[str], cls: type[Command] = Command, **named: Any
) -> Callable[[Function], Function]:
    """Make a function a command, with examples that its help and docs/cli.md show."""

    def add(function: Function) -> Function:
        setattr(function, _EXAMPLES, tuple(examples))
        app.command(name, cls=cls, help=flowing(named.pop("help", function.__doc__) or ""), **named)(function)
        return function

    return add


def flowing(text: str) -> str:
    """A text with a line for each paragraph: how wide lines are is the terminal's."""
    return "\n\n".join(" ".join(each.split()) for each in text.strip().split("\n\n"))


def spoken(context: typer.Context) -> dict[str, Any]:
    """The shared options that stand on the command line itself."""
    return dict(context.meta.get(_META, {}))


def session(context: typer.Context) -> Session:
    """What the options say, over the profile and the environment."""
    given = spoken(context)
    profile = profiles.with_options(
        profiles.from_environment(given.get("profile")),
        bootstrap=given.get("bootstrap"),
        http=given.get("http"),
        timeout_s=given.get("timeout"),
    )
    named = os.environ.get(f"{profiles.ENVIRONMENT_PREFIX}OUTPUT") or Format.TABLE.value
    if named not in [each.value for each in Format]:
        raise CliError(f"{profiles.ENVIRONMENT_PREFIX}OUTPUT is {named!r}", "one of table, json, yaml", Exit.USAGE)
    return Session(profile, Output(given.get("output") or Format(named)))


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is lost; without a terminal `--yes` must say so."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CliError(f"{question} Nobody can be asked here", "say --yes", Exit.USAGE)
    if not typer.confirm(question, err=True):
        raise CliError("nothing was done", "", Exit.FAILED)


DEFAULTS = {
    "bootstrap": DEFAULT_BOOTSTRAP,
    "http": "asked of the broker",
    "output": "table",
    "timeout": f"{DEFAULT_TIMEOUT_S:g}",
}
