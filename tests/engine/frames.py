"""What the tests of compressed frames share: contents with headers among them, and what may happen to a frame."""

from collections.abc import Callable

from hypothesis import strategies as st

Change = Callable[[bytes], bytes]

contents = st.lists(st.sampled_from([b"tide", b"-", b"ide-", b"ti", b"de-delay", b"x" * 70_000, b"guide-"]), max_size=9)


def flipped(data: bytes, at: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[at % len(data)] ^= 1 << bit
    return bytes(changed)


def changes(another: bytes, skipped: bytes) -> st.SearchStrategy[Change]:
    """Damage, a cut, bytes behind it; `another` frame behind it, or one to be `skipped` before."""
    return st.one_of(
        st.builds(lambda at, bit: lambda data: flipped(data, at, bit), st.integers(0, 200), st.integers(0, 7)),
        st.builds(lambda size: lambda data: data[:-size], st.integers(1, 12)),
        st.builds(lambda more: lambda data: data + more, st.binary(min_size=1, max_size=8)),
        st.just(lambda data: data + another),
        st.just(lambda data: skipped + data),
    )
