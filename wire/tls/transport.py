"""TLS over another transport, with the same promises: nothing waits but `readable`, `writable` and the handshake.

The rules:
1. What the other side has sent is decrypted when it is asked for, and then as much as there is room for: whoever gets
   less than that need not ask again before `readable`.
2. Bytes count as taken once all that they were encrypted to is with the transport below. Until then `send` raises
   BlockingIOError and remembers how many they were; the same bytes must be given again, as OpenSSL itself wants it.
3. Files are read and encrypted in pieces: the kernel cannot encrypt what `sendfile` sends.
4. Whatever the client sends, a call ends soon: TLS has messages that carry nothing and cost much. Who sends these alone
   is cut off.
"""

import os
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import trio

from engine.files.files import Buffer
from wire.transport import Address, Transport

PIECE_BYTES = 128 * 1024
"""So much is encrypted at a time, in a tenth of a millisecond."""
RAW_BYTES = 64 * 1024
CAUTIOUS_BYTES = 4 * 1024
"""So much is received at a time while nothing has come of it."""
MOST_PULLS = 4
"""In one call."""
MOST_SILENT_BYTES = 64 * 1024
"""More than a TLS record has, and so more than anything of use begins with."""
HANDSHAKE_BYTE = 0x16
"""What a TLS client begins with."""
NOTHING = memoryview(b"")


class NoTls(Exception):
    """No handshake came about; the sentence says why."""


class TlsTransport:
    """One connection, as a server. `handshake` comes first."""

    _raw = memoryview(bytearray(RAW_BYTES))
    """Where what is received lies for a moment; all share it."""

    def __init__(self, under: Transport, context: ssl.SSLContext) -> None:
        self.address: Address = under.address
        self._under = under
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._unsent = NOTHING
        self._taken = 0
        """Of the bytes given to `send`, those that `_unsent` carries."""
        self._has_more = True
        """Whether there may be something to decrypt without receiving."""
        self._has_ended = False
        self._silent = 1
        """How much was received since something came of it."""
        self._failure: OSError | None = None
        """Why nothing more can be received."""

    @property
    def local_address(self) -> Address:
        return self._under.local_address

    @property
    def certificate(self) -> bytes | None:
        """What the client has shown, in DER; None if nothing."""
        return self._ssl.getpeercert(binary_form=True)

    # -- the beginning

    async def handshake(self, turn: trio.Lock) -> None:
        """Raises `NoTls`, or OSError where the client has gone. Its steps take a millisecond of the processor each, and
        wait for their turn with those of other connections, so that requests are served in between."""
        is_first = True
        while True:
            try:
                async with turn:
                    self._ssl.do_handshake()
            except ssl.SSLWantReadError:
                await self._send_all()
                await self._receive(is_first=is_first)
                is_first = False
                continue
            except ssl.SSLError as error:
                self._say_goodbye()
                raise NoTls(_reason(error)) from None
            await self._send_all()
            return

    async def _receive(self, *, is_first: bool) -> None:
        while True:
            await self._under.readable()
            try:
                count = self._under.receive_into(self._raw)
                break
            except (BlockingIOError, InterruptedError):
                continue
        if count == 0:
            raise ConnectionResetError("the client has gone during the handshake")
        if is_first and self._raw[0] != HANDSHAKE_BYTE:
            raise NoTls("the client does not speak TLS, and this listener speaks nothing else")
        self._incoming.write(self._raw[:count])

    async def _send_all(self) -> None:
        self._unsent = memoryview(self._outgoing.read())
        while not self._push():
            await self._under.writable()

    # -- receiving

    async def readable(self) -> None:
        if self._has_more:
            await trio.lowlevel.checkpoint()
        else:
            await self._under.readable()

    def receive_into(self, space: memoryview) -> int:
        if self._failure is not None:
            raise self._failure
        filled, size, pulls = 0, len(space), 0
        while filled < size and not self._has_ended:
            try:
                # typeshed has the result of the form without a buffer.
                count = cast(int, self._ssl.read(size - filled, space[filled:]))
            except ssl.SSLWantReadError:
                if pulls == MOST_PULLS or not self._pull():
                    break
                pulls += 1
                continue
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                count = 0
            except ssl.SSLError as error:
                self._failure = error
                break
            if count == 0:
                self._has_ended = True
            filled += count
            self._silent = 0
        self._has_more = filled == size or pulls == MOST_PULLS or self._has_ended or self._failure is not None
        self._answer()
        if filled == 0 and not self._has_ended:
            raise self._failure or BlockingIOError()
        return filled

    def _pull(self) -> bool:
        """Whether there was something to decrypt, or the end (rule 4)."""
        if self._silent > MOST_SILENT_BYTES:
            self._failure = ConnectionAbortedError("the client says much in TLS, and nothing by it")
            return False
        try:
            count = self._under.receive_into(self._raw if not self._silent else self._raw[:CAUTIOUS_BYTES])
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            # What was decrypted before is handed out first.
            self._failure = error
            return False
        self._silent += count
        if count == 0:
            self._incoming.write_eof()
        else:
            self._incoming.write(self._raw[:count])
        return True

    def _answer(self) -> None:
        """Send what TLS itself answers, such as to a new key; what cannot go now goes with what is sent next. Whoever
        takes none of it gets no more."""
        if self._outgoing.pending and not self._unsent:
            self._unsent = memoryview(self._outgoing.read())
            self._push()
        elif self._outgoing.pending > MOST_SILENT_BYTES:
            self._failure = ConnectionAbortedError("the client does not take what TLS answers it")
            self._has_more = True

    # -- sending

    async def writable(self) -> None:
        await self._under.writable()

    def send(self, data: Buffer, _flags: int) -> int:
        before = self._finish_last()
        return before or self._encrypt(memoryview(data)[:PIECE_BYTES])

    def send_parts(self, parts: Sequence[Buffer], _flags: int) -> int:
        before = self._finish_last()
        if before:
            return before
        gathered: list[Buffer] = []
        room = PIECE_BYTES
        for part in parts:
            gathered.append(memoryview(part)[:room])
            room -= len(gathered[-1])
            if room <= 0:
                break
        return self._encrypt(memoryview(b"".join(gathered)))

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        before = self._finish_last()
        if before:
            return before
        return self._encrypt(memoryview(os.pread(descriptor, min(size, PIECE_BYTES), position)))

    def _encrypt(self, data: memoryview) -> int:
        size = len(data)
        while data:
            data = data[self._ssl.write(data) :]
        self._unsent = memoryview(self._outgoing.read())
        if not self._push():
            self._taken = size
            raise BlockingIOError
        return size

    def _finish_last(self) -> int:
        """How many bytes were given last time and are sent only now; raises BlockingIOError while they are not."""
        if self._unsent and not self._push():
            raise BlockingIOError
        taken, self._taken = self._taken, 0
        return taken

    def _push(self) -> bool:
        """Whether all that is encrypted is with the transport below."""
        while self._unsent:
            try:
                self._unsent = self._unsent[self._under.send(self._unsent, 0) :]
            except (BlockingIOError, InterruptedError):
                return False
        self._unsent = NOTHING
        return True

    # -- the end

    def has_ended(self) -> bool:
        return self._has_ended or self._under.has_ended()

    def end_sending(self) -> None:
        self._say_goodbye()
        self._under.end_sending()

    def close(self) -> None:
        self._say_goodbye()
        self._under.close()

    def _say_goodbye(self) -> None:
        """Tell the client, if it can be told without waiting, that this is the end and nobody has cut it off."""
        try:
            if not self._unsent:
                with suppress(ssl.SSLError):  # it has not said so too, or there was no handshake
                    self._ssl.unwrap()
                self._unsent = memoryview(self._outgoing.read())
                self._push()
        except (OSError, ValueError):
            pass  # the client is gone


def _reason(error: ssl.SSLError) -> str:
    """OpenSSL's words without its place in the source."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not accepted: {error.verify_message}"
    return f"no TLS came about: {(error.reason or str(error)).replace('_', ' ').lower()}"
