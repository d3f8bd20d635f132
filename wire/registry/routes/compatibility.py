"""`/compatibility`: whether a schema would fit, without registering it."""

import msgspec

from coordinators.access.rights import READ_SUBJECT
from coordinators.schemas.errors import VersionNotFound
from coordinators.schemas.registering import Registering
from coordinators.schemas.registry import Registry
from wire.http.routing import Route
from wire.registry.answers import Compatible
from wire.registry.bodies import SchemaGiven
from wire.registry.calls import RegistryCall, SubjectPlace, VersionPlace
from wire.registry.rights import to_subject


class CheckQuery(msgspec.Struct):
    """With `verbose` it is told why not."""

    verbose: bool = False
    normalize: bool = False


async def check_version(call: RegistryCall, registry: Registry, registering: Registering) -> Compatible:
    """Against one version alone, whatever the level; the latest of a subject that there is not lets everything be."""
    subject, number = call.subject, call.version
    if number is None:
        row = registry.subject(subject)
        latest = None if row is None else row.latest
        if latest is None:
            await registering.check(subject, call.body.content, normalize=call.query.normalize)
            return _answer(call, [])
        number = latest.number
    if number < 1:
        raise VersionNotFound(number)
    return _answer(call, await registering.check(subject, call.body.content, number, normalize=call.query.normalize))


async def check_subject(call: RegistryCall, registering: Registering) -> Compatible:
    """Against the versions that the subject's level names."""
    reasons = await registering.check(call.subject, call.body.content, normalize=call.query.normalize)
    return _answer(call, reasons)


def _answer(call: RegistryCall, reasons: list[str]) -> Compatible:
    return Compatible(not reasons, reasons) if call.query.verbose else Compatible(not reasons)


READ = to_subject(READ_SUBJECT)
ROUTES = (
    Route(
        "POST",
        "/compatibility/subjects/{subject}/versions/{version}",
        check_version,
        "Whether a schema fits a version",
        Compatible,
        VersionPlace,
        CheckQuery,
        SchemaGiven,
        rights=READ,
    ),
    Route(
        "POST",
        "/compatibility/subjects/{subject}/versions",
        check_subject,
        "Whether a schema fits its subject",
        Compatible,
        SubjectPlace,
        CheckQuery,
        SchemaGiven,
        rights=READ,
    ),
)
