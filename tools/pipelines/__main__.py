"""`python -m tools.pipelines NAME --help`: the pipelines from a command line, and what spark-submit runs."""

import argparse
import sys
from collections.abc import Sequence

from tools.pipelines import PIPELINES
from tools.pipelines.options import FAILED, OK, WRONG_USE, Option, Pipeline, PipelineError, UsageError
from tools.pipelines.running import first_line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a pipeline; the result is the exit status."""
    given = vars(_parser().parse_args(arguments))
    pipeline = PIPELINES[given.pop("pipeline")]
    config = given.pop("config")
    try:
        return pipeline.run(pipeline.values(given, config))
    except UsageError as error:
        sys.stderr.write(f"{pipeline.name}: {error}\n")
        return WRONG_USE
    except PipelineError as error:
        sys.stderr.write(f"{pipeline.name}: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        return OK
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        sys.stderr.write(f"{pipeline.name}: Spark failed: {first_line(error)}\n")
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tidegate pipeline", description="Spark pipelines over Kafka topics.")
    commands = parser.add_subparsers(dest="pipeline", required=True, metavar="NAME")
    for pipeline in PIPELINES.values():
        _add(commands.add_parser(pipeline.name, help=pipeline.summary, description=pipeline.summary), pipeline)
    return parser


def _add(parser: argparse.ArgumentParser, pipeline: Pipeline) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help=f"a TOML file; its tables [common] and [{pipeline.name}] count"
    )
    for option in pipeline.options:
        shown = "" if option.empty in (None, False, [], {}) else f" (default: {option.empty})"
        help_text = (option.help + shown).replace("%", "%%")
        if option.kind == "flag":
            parser.add_argument(f"--{option.name}", help=help_text, action=argparse.BooleanOptionalAction, default=None)
        else:
            action = "append" if option.kind in ("list", "pairs") else "store"
            parser.add_argument(f"--{option.name}", metavar=_metavar(option), help=help_text, action=action)


def _metavar(option: Option) -> str:
    if option.choices:
        return "|".join(option.choices)
    return {"number": "N", "real": "N", "pairs": "KEY=VALUE", "list": "NAME"}.get(option.kind, "TEXT")


if __name__ == "__main__":
    sys.exit(main())
