"""`tidegate pipeline`: the Spark jobs of `tools/pipelines`, which know their own options."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tools.cli.errors import CliError, NotFound, UsageMistake
from tools.cli.framework import session, spoken
from tools.cli.output import Column
from tools.cli.profiles import DEFAULT_BOOTSTRAP, Profile

EXAMPLES = (
    "tidegate pipeline",
    "tidegate pipeline archive --help",
    "tidegate pipeline archive --topics orders --archive lake/orders",
    "tidegate pipeline --profile production usage --topics orders --output reports/usage",
)
BOOTSTRAP = "--bootstrap"
# Everything after the name is the pipeline's own, `--help` too.
SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
_MODULES = {"PLAIN": "plain.PlainLoginModule"}
_SCRAM = "scram.ScramLoginModule"
_PKCS8 = "-----BEGIN PRIVATE KEY-----"


def pipeline(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one; without it they are listed.")] = None,
) -> None:
    """Run a Spark pipeline over topics: archive, backfill, reports. 'pipeline NAME --help' shows its options.

    The profile's address and security are handed over, below what its own options and its --config file say.
    """
    from tools.pipelines import PIPELINES

    at = session(context)
    if name is None:
        rows = [{"name": each.name, "summary": each.summary} for each in PIPELINES.values()]
        at.output.rows(rows, (Column("name", "pipeline"), Column("summary")))
        return
    if name not in PIPELINES:
        raise NotFound(f"no pipeline {name!r}", f"there are {', '.join(PIPELINES)}")
    try:
        from tools.pipelines.__main__ import main

        status = main([name, *_arguments(context)], below=handed_over(at.profile))
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise CliError("pipelines need Spark, which is not installed", "pip install 'tidegate[spark]'") from None
    raise typer.Exit(status)


def _arguments(context: typer.Context) -> list[str]:
    """The pipeline's own, and an address that was given on the command line: that goes before a --config file."""
    arguments = list(context.args)
    address = spoken(context).get("bootstrap")
    if address is not None and not any(each.split("=")[0] == BOOTSTRAP for each in arguments):
        arguments += [BOOTSTRAP, address]
    return arguments


def handed_over(profile: Profile) -> dict[str, Any]:
    """The options that a profile stands for. In this process alone: nothing of it is on a command line."""
    found: dict[str, Any] = {}
    if profile.bootstrap != DEFAULT_BOOTSTRAP:
        found["bootstrap"] = profile.bootstrap
    if profile.security_protocol != "PLAINTEXT":
        found["kafka"] = java_settings(profile)
        found["producer"] = librdkafka_settings(profile)
    return found


def java_settings(profile: Profile) -> dict[str, str]:
    """Security as Kafka's Java clients, which Spark uses, are told of it."""
    settings = {"security.protocol": profile.security_protocol}
    if profile.security_protocol.startswith("SASL_"):
        if profile.sasl_mechanism == "OAUTHBEARER":
            raise UsageMistake("pipelines do not log in by tokens", "use SCRAM or a certificate for them")
        module = "org.apache.kafka.common.security." + _MODULES.get(profile.sasl_mechanism, _SCRAM)
        user, password = (_quoted(each or "") for each in (profile.sasl_username, profile.sasl_password))
        settings["sasl.mechanism"] = profile.sasl_mechanism
        settings["sasl.jaas.config"] = f"{module} required username={user} password={password};"
    if profile.security_protocol.endswith("SSL"):
        if profile.ssl_cafile:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": profile.ssl_cafile}
        if profile.ssl_certfile:
            chain, key = _read(profile.ssl_certfile), _read(profile.ssl_keyfile or profile.ssl_certfile)
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain}
            settings["ssl.keystore.key"] = _private_key(key, profile.ssl_keyfile or profile.ssl_certfile)
        if not profile.ssl_check_hostname:
            settings["ssl.endpoint.identification.algorithm"] = ""
    return settings


def librdkafka_settings(profile: Profile) -> dict[str, str]:
    """The same in librdkafka's words, for what executors write with."""
    settings = {"security.protocol": profile.security_protocol}
    if profile.security_protocol.startswith("SASL_"):
        settings["sasl.mechanism"] = profile.sasl_mechanism
        settings["sasl.username"] = profile.sasl_username or ""
        settings["sasl.password"] = profile.sasl_password or ""
    if profile.security_protocol.endswith("SSL"):
        files = {
            "ssl.ca.location": profile.ssl_cafile,
            "ssl.certificate.location": profile.ssl_certfile,
            "ssl.key.location": profile.ssl_keyfile or profile.ssl_certfile,
        }
        settings |= {key: file for key, file in files.items() if file}
        if not profile.ssl_check_hostname:
            settings["ssl.endpoint.identification.algorithm"] = "none"
    return settings


def _quoted(text: str) -> str:
    """As a value in Java's login configuration."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _private_key(text: str, file: str) -> str:
    """The key alone; Java takes no other form."""
    begin = text.find(_PKCS8)
    if begin < 0:
        hint = f"openssl pkcs8 -topk8 -nocrypt -in {file} -out key8.pem, and name that"
        raise UsageMistake(f"{file} holds no private key that Java reads (PKCS#8, not encrypted)", hint)
    end = text.index("-----END PRIVATE KEY-----", begin)
    return text[begin:end] + "-----END PRIVATE KEY-----\n"


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageMistake(f"{file} cannot be read: {error}", "see the profile") from None
