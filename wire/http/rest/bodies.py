"""Bodies of requests in these formats, which name their content types themselves."""

from typing import TypeVar

import msgspec

from wire.http.rest.refusals import UNREADABLE, RestRefusal

T = TypeVar("T")


def decoded(body: bytes | bytearray | memoryview, wanted: type[T]) -> T:
    """The body as a document of this type."""
    try:
        return msgspec.json.decode(body, type=wanted)
    except msgspec.ValidationError as error:
        raise RestRefusal(UNREADABLE, f"the body: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RestRefusal(400, f"the body is not JSON: {error}") from None
    except RecursionError:
        raise RestRefusal(400, "the body is nested too deeply") from None
