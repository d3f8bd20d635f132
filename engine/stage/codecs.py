"""Released records in the codec that their client sent them in.

The stage holds records uncompressed, for it takes them one by one. A batch that is built of them says in its attributes
which codec most of its bytes came in; before it goes to the log it is put in that codec, or in the topic's own.
"""

from engine.log.types import LogConfig
from engine.records.compression import CODECS, NONE, compress
from engine.records.layout import CODEC_MASK, HEADER_SIZE, BatchHeader, seal_batch, split_batches

COMPRESSED_AT_ONCE_BYTES = 32 * 1024
_ASKED_SHIFT = 8
_ASKED_MASK = CODEC_MASK << _ASKED_SHIFT


def asking_for(codec: int) -> int:
    """The attributes of a batch that is to be put in a codec."""
    return codec << _ASKED_SHIFT


def codec_for(header: BatchHeader, config: LogConfig) -> int:
    """What a batch built of staged records is to be put in."""
    if header.is_control:
        return NONE
    return config.codec((header.attributes & _ASKED_MASK) >> _ASKED_SHIFT)


def in_codecs(batches: bytes, config: LogConfig) -> bytes:
    """[any thread] The batches as the log takes them. One that would not become smaller stays as it is, where the topic
    does not insist."""
    return b"".join(_in_codec(header, batch, config) for header, batch in split_batches(batches))


def is_quick(batches: bytes, config: LogConfig) -> bool:
    """Whether that is so little work that the event loop can do it."""
    sizes = (len(batch) for header, batch in split_batches(batches) if codec_for(header, config) != NONE)
    return sum(sizes) <= COMPRESSED_AT_ONCE_BYTES


def _in_codec(header: BatchHeader, batch: memoryview, config: LogConfig) -> bytes | memoryview:
    codec = codec_for(header, config)
    plain = header._replace(attributes=header.attributes & ~_ASKED_MASK)
    section = batch[HEADER_SIZE:]
    if codec != NONE:
        compressed = compress(codec, section, config.level(codec))
        if len(compressed) < len(section) or config.compression_type in CODECS:
            return seal_batch(plain._replace(attributes=plain.attributes | codec), compressed)
    return batch if plain == header else seal_batch(plain, section)
