"""The command `tidegate`, also `python -m tidegate`."""

import argparse
import os
import sys
from collections.abc import Sequence

from tidegate import _path

SERVE = "serve"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # The broker's start-up time counts: it is not made to load the command line, and typer and rich with it.
    if given[:1] != [SERVE]:
        _path.activate()
        from tools.cli import main as run_command

        return run_command(given)
    parser = _parser()
    options = _parsed(parser, given[1:])
    _check(options, parser)
    _path.activate()
    from tidegate.serve import CannotStart, serve

    try:
        serve(
            config_file=options.config,
            environment=os.environ,
            assignments=_assignments(options),
        )
    except CannotStart as error:
        sys.stderr.write(f"tidegate: {error}\n")
        return error.status
    return 0


def _parsed(parser: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """The options; one that there is not is refused with the one that was perhaps meant."""
    options, unknown = parser.parse_known_args(given)
    if unknown:
        parser.error(f"there is no {unknown[0]}{_meant(parser, unknown[0])}")
    return options


def _meant(parser: argparse.ArgumentParser, option: str) -> str:
    from difflib import get_close_matches

    options = [name for action in parser._actions for name in action.option_strings]
    ends_alike = [name for name in options if name.endswith(f"-{option.lstrip('-')}")]
    close = ends_alike or get_close_matches(option.partition("=")[0], options)
    return f"; perhaps {', '.join(close)}?" if close else "; --help lists the options"


def _parser() -> argparse.ArgumentParser:
    serve = argparse.ArgumentParser(prog=f"tidegate {SERVE}", description="Run the broker until it is told to stop.")
    serve.add_argument("--config", metavar="FILE", help="a TOML or JSON file with broker keys by Kafka's names")
    serve.add_argument("--data-dir", metavar="DIR", help="where data is kept (log.dirs; default: data)")
    serve.add_argument("--host", metavar="HOST", help="the address to listen on (default: 127.0.0.1)")
    serve.add_argument("--kafka-port", metavar="PORT", type=int, help="the port; 0 takes a free one (default: 9092)")
    serve.add_argument(
        "--http-port",
        metavar="PORT",
        type=int,
        help="the port of the operations door; 0 for none, -1 takes a free one (default: 8080)",
    )
    serve.add_argument(
        "--grpc-port",
        metavar="PORT",
        type=int,
        help="the port of the gRPC door, by custom 9095; 0 for none, -1 takes a free one (default: 0)",
    )
    serve.add_argument(
        "--text-port",
        metavar="PORT",
        type=int,
        help="the port of the text door, by custom 9094; 0 for none, -1 takes a free one (default: 0)",
    )
    serve.add_argument(
        "--registry-port",
        metavar="PORT",
        type=int,
        help="the port of the schema registry, by custom 8081; 0 for none, -1 takes a free one (default: 0)",
    )
    serve.add_argument("--node-id", metavar="N", type=int, help="the number of this node (node.id; default: 1)")
    serve.add_argument("--etcd", metavar="URL[,URL]", help="where the cluster's etcd is (etcd.endpoints)")
    serve.add_argument("--rack", metavar="RACK", help="where this node stands (broker.rack)")
    serve.add_argument(
        "--allow-anonymous",
        action="store_true",
        default=None,
        help="serve clients beyond this machine without asking who they are (listener.allow.anonymous)",
    )
    serve.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="set a broker key; may be repeated"
    )
    return serve


# What the options are short for.
_KEYS = {
    "host": "listeners",
    "kafka_port": "listeners",
    "http_port": "http.port",
    "grpc_port": "grpc.port",
    "text_port": "text.port",
    "registry_port": "registry.port",
    "data_dir": "log.dirs",
    "node_id": "node.id",
    "etcd": "etcd.endpoints",
    "rack": "broker.rack",
    "allow_anonymous": "listener.allow.anonymous",
}


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Refuse two answers to one question: whichever were taken, the other would be passed over in silence."""
    assigned = {text.partition("=")[0].strip() for text in options.set}
    for name, key in _KEYS.items():
        if getattr(options, name) is not None and key in assigned:
            option = f"--{name.replace('_', '-')}"
            parser.error(f"{option} and --set {key}=... say the same in two ways; give one of them")


def _assignments(options: argparse.Namespace) -> list[str]:
    """The options as assignments; those for address and directory are short for keys."""
    assignments: list[str] = []
    if options.data_dir is not None:
        assignments.append(f"log.dirs={options.data_dir}")
    if options.host is not None or options.kafka_port is not None:
        host = options.host or "127.0.0.1"
        port = 9092 if options.kafka_port is None else options.kafka_port
        assignments.append(f"listeners=PLAINTEXT://{f'[{host}]' if ':' in host else host}:{port}")
    for name in ("http_port", "grpc_port", "text_port", "registry_port", "node_id", "etcd", "rack"):
        if (value := getattr(options, name)) is not None:
            assignments.append(f"{_KEYS[name]}={value}")
    if options.allow_anonymous:
        assignments.append(f"{_KEYS['allow_anonymous']}=true")
    return assignments + list(options.set)


if __name__ == "__main__":
    sys.exit(main())
