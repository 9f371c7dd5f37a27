"""The connection between a client and a server on this machine, which can be cut and mended."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Wire:
    """Forwards connections to a port.

    Attributes:
        port: where it accepts them.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._is_cut = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        """Close all connections, and refuse new ones."""
        self._is_cut = True
        for ends in self._pairs:
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def mend(self) -> None:
        self._is_cut = False

    def _accept(self) -> None:
        with suppress(OSError):  # The listener was closed.
            while True:
                client, _ = self._listener.accept()
                if self._is_cut:
                    client.close()
                    continue
                pair = (client, socket.create_connection(("127.0.0.1", self._server)))
                self._pairs.append(pair)
                for source, target in (pair, pair[::-1]):
                    threading.Thread(target=_forward, args=(source, target), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
