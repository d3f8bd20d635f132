"""`python -m tools.pipelines NAME --help`: the pipelines from a command line, and what spark-submit runs."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tools.pipelines import PIPELINES
from tools.pipelines.options import FAILED, OK, WRONG_USE, Option, Pipeline, PipelineError, UsageError, Values
from tools.pipelines.running import first_line, hidden


def main(arguments: Sequence[str] | None = None, below: Mapping[str, Any] | None = None) -> int:
    """Run a pipeline; the result is the exit status. `below` is what options are if neither arguments nor file say."""
    given = vars(_parser().parse_args(arguments))
    pipeline = PIPELINES[given.pop("pipeline")]
    config = given.pop("config")
    values: Values = {}

    def tell(line: str) -> None:
        sys.stderr.write(f"{pipeline.name}: {hidden(line, values)}\n")

    try:
        values = pipeline.values(given, config, below)
        return pipeline.run(values)
    except UsageError as error:
        tell(str(error))
        return WRONG_USE
    except PipelineError as error:
        tell(str(error))
        return FAILED
    except KeyboardInterrupt:
        return OK
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        tell(f"Spark failed: {first_line(error)}")
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
            parser.add_argument(f"--{option.name}", metavar=metavar(option), help=help_text, action=action)


def metavar(option: Option) -> str:
    """What stands for the value of an option."""
    if option.choices:
        return "|".join(option.choices)
    return {"number": "N", "real": "N", "pairs": "KEY=VALUE", "list": "NAME"}.get(option.kind, "TEXT")


if __name__ == "__main__":
    sys.exit(main())
