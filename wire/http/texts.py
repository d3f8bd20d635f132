"""Bytes of records in JSON: as text where they are text, in base64 where they are not."""

from base64 import b64encode


def as_text(data: bytes | None) -> str | None:
    """The text, or None if there is none or it is not UTF-8."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def as_base64(data: bytes | None) -> str | None:
    """What `as_text` cannot give, in base64; None where it can."""
    return None if data is None or as_text(data) is not None else b64encode(data).decode()
