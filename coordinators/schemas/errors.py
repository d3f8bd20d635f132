"""What the registry refuses, by the codes of Confluent's API: the first three digits are the HTTP status."""

from engine.errors import InvalidRequest


class RegistryError(InvalidRequest):
    """A refusal; `code` says which."""

    code = 42200

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code

    @property
    def status(self) -> int:
        """Of HTTP."""
        return int(str(self.code)[:3])


class SubjectNotFound(RegistryError):
    """There is no such subject, or all its versions are deleted."""

    code = 40401

    def __init__(self, subject: str) -> None:
        super().__init__(f"Subject '{subject}' not found.")


class VersionNotFound(RegistryError):
    """The subject has no such version."""

    code = 40402

    def __init__(self, version: int) -> None:
        super().__init__(f"Version {version} not found.")


class SchemaNotFound(RegistryError):
    """There is no such schema, or not under the subject."""

    code = 40403

    def __init__(self, message: str = "Schema not found") -> None:
        super().__init__(message)


class SubjectSoftDeleted(RegistryError):
    """It was deleted before; only for good can it be deleted once more."""

    code = 40404


class SubjectNotSoftDeleted(RegistryError):
    """What is deleted for good has to be deleted before."""

    code = 40405


class VersionSoftDeleted(RegistryError):
    """The version was deleted before; only for good can it be deleted once more."""

    code = 40406


class VersionNotSoftDeleted(RegistryError):
    """A version that is deleted for good has to be deleted before."""

    code = 40407


class ConfigNotFound(RegistryError):
    """The subject has no compatibility level of its own."""

    code = 40408


class ModeNotFound(RegistryError):
    """The subject has no mode of its own."""

    code = 40409


class IncompatibleSchema(RegistryError):
    """It cannot be read, or cannot read what was written, as the subject's level wants it."""

    code = 409


class UnacceptableSchema(RegistryError):
    """It is no schema of its type."""

    code = 42201


class InvalidVersion(RegistryError):
    """No version can be called so."""

    code = 42202


class InvalidCompatibility(RegistryError):
    """There is no such level."""

    code = 42203


class InvalidMode(RegistryError):
    """There is no such mode."""

    code = 42204


class OperationNotPermitted(RegistryError):
    """The mode does not let it happen."""

    code = 42205


class ReferenceExists(RegistryError):
    """Other schemas refer to it."""

    code = 42206


class IdDoesNotMatch(RegistryError):
    """The id is another schema's."""

    code = 42207


class InvalidSubject(RegistryError):
    """No subject can be called so."""

    code = 42208


class SchemaTooLarge(RegistryError):
    """The schema is larger than is taken."""

    code = 42209
