"""Request and response headers.

The request header's version follows from api key and version: v2, with tagged fields, where the API's version
is flexible, else v1. The client id is the old kind of string in both. A response to ApiVersions always has
header v0 (KIP-511), since the client cannot know yet which versions the broker has.
"""

from struct import Struct
from struct import error as StructError  # noqa: N812

from wire.kafka.codec.api_table import API_TABLE
from wire.kafka.codec.primitives import MAX_TAGS, WireError, skip_tags
from wire.kafka.messages.base import Buffer

API_VERSIONS_KEY = 18
FLEXIBLE_FROM = {key: entry.flexible_from for key, entry in API_TABLE.items()}
NEVER = 32768

_request_start = Struct(">hhih").unpack_from
_response_start_v0 = Struct(">ii")
_response_start_v1 = Struct(">iix")


def is_flexible(api_key: int, version: int) -> bool:
    """Whether this version has compact lengths and tagged fields; so do all versions after known ones."""
    return version >= FLEXIBLE_FROM.get(api_key, NEVER)


def schema_versions(api_key: int) -> tuple[int, int]:
    """The first and the last version that has a schema; a `WireError` for an unknown key."""
    entry = API_TABLE.get(api_key)
    if entry is None:
        raise WireError(f"no schema for api key {api_key}")
    return entry.min_version, entry.max_version


def decode_request_header(frame: Buffer, position: int = 0) -> tuple[int, int, int, str | None, int]:
    """api key, version, correlation id, client id, where the body begins; of unknown keys and versions too."""
    try:
        api_key, version, correlation_id, size = _request_start(frame, position)
        position += 10
        client_id = None
        if size >= 0:
            stop = position + size
            if stop > len(frame):
                raise WireError(f"request header: client id of {size} bytes does not fit")
            client_id = str(frame[position:stop], "utf-8")
            position = stop
        elif size != -1:
            raise WireError(f"request header: client id has length {size}")
        if version >= FLEXIBLE_FROM.get(api_key, NEVER):
            tags = frame[position]
            position += 1
            if tags:
                if tags > MAX_TAGS:
                    raise WireError(f"request header: more than {MAX_TAGS} tagged fields")
                position = skip_tags(frame, position, tags, len(frame))
        return api_key, version, correlation_id, client_id, position
    except (StructError, IndexError):
        raise WireError("request header: the frame ends too early") from None
    except UnicodeDecodeError:
        raise WireError("request header: client id is not UTF-8") from None


def response_start(api_key: int, version: int) -> Struct:
    """What a response to a request of this key and version begins with: its length, and the header with its correlation
    id."""
    if api_key != API_VERSIONS_KEY and is_flexible(api_key, version):
        return _response_start_v1
    return _response_start_v0
