"""`tidegate serve`: runs a broker as a process of its own until SIGINT or SIGTERM."""

import gc
import logging
import resource
import signal
import sys
from collections.abc import Mapping, Sequence

import trio

from engine.errors import BrokerError, InvalidConfig
from tidegate import logs
from tidegate.broker import Broker
from tidegate.config import BrokerConfig
from tidegate.data_directory import DataDirectoryInUse, DataDirectoryUnusable
from tidegate.descriptors import TooFewDescriptors
from tidegate.listening import CannotListen

# How long a thread may keep the interpreter from others. The sync threads need it for microseconds between
# two system calls; Python's default of 5 ms would be added to every sync while the loop is busy.
SWITCH_INTERVAL_S = 0.0005


# What a request allocates dies with it, by reference counting; cycles are rare, so they are looked for rarely.
# A collection of young objects looks at as many as the first two numbers make together, in some 20 ms.
GARBAGE_THRESHOLDS = (50_000, 5, 200)


logger = logging.getLogger("tidegate")


EXIT_FAILED, EXIT_CONFIGURATION = 1, 2


class CannotStart(Exception):
    """Why the broker did not start, in a sentence with what to do; `status` is the exit status."""

    def __init__(self, message: str, status: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.status = status


def serve(*, config_file: str | None, environment: Mapping[str, str], assignments: Sequence[str]) -> None:
    """Run until told to stop."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _allow_many_files()
    try:
        config = BrokerConfig.load(file=config_file, environment=environment, assignments=assignments)
        logs.configure(config.settings)
        trio.run(_serve, config)
    except InvalidConfig as error:
        raise CannotStart(str(error), EXIT_CONFIGURATION) from error
    except CannotListen as error:
        raise CannotStart(str(error), EXIT_CONFIGURATION if error.is_configuration else EXIT_FAILED) from error
    except (BrokerError, DataDirectoryInUse, DataDirectoryUnusable, TooFewDescriptors) as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CannotStart(f"the system refused the broker something: {where}{error.strerror or error}") from error
    finally:
        logs.release()


async def _serve(config: BrokerConfig) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        async with Broker(config) as broker:
            # What was loaded stays, so it is never looked at again. A last collection would find next to nothing, and
            # keep the first clients waiting.
            gc.freeze()
            gc.set_threshold(*GARBAGE_THRESHOLDS)
            sys.stdout.write(_ready_line(broker))
            sys.stdout.flush()
            # In a thread: what the first line needs takes 20 ms to load, and the first clients are there.
            await trio.to_thread.run_sync(logs.release)
            logger.info("the broker is ready", extra={"kafka": broker.kafka_address, "http": broker.http_address})
            async for signal_number in signals:
                if signal_number == signal.SIGHUP:
                    await broker.reload()
                    continue
                logger.info("the broker stops", extra={"signal": signal.Signals(signal_number).name})
                break


def _ready_line(broker: Broker) -> str:
    http = f" http={broker.http_address}" if broker.http_address is not None else ""
    grpc = f" grpc={broker.grpc_address}" if broker.grpc_address is not None else ""
    text = f" text={broker.text_address}" if broker.text_address is not None else ""
    registry = f" registry={broker.registry_address}" if broker.registry_address is not None else ""
    return f"tidegate ready kafka={broker.kafka_address}{http}{grpc}{text}{registry}\n"


def _allow_many_files() -> None:
    """Raise the soft limit of open files to the hard one: connections and segments each take one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
