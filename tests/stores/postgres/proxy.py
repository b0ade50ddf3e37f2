"""A server's socket as seen through a network that fails: it cuts a connection beside a statement, before or after it was run."""

import socket
import threading
from contextlib import suppress
from pathlib import Path

from tests.stores.postgres.server import PORT

_SOCKET = f".s.PGSQL.{PORT}"
_READY = (
    b"Z\x00\x00\x00\x05I",
    b"Z\x00\x00\x00\x05E",
)  # the server has ended a transaction, or a statement failed in it


class Proxy:
    """Passes everything on, until `cut` says otherwise."""

    def __init__(self, server_folder, folder):
        self.folder = Path(folder)
        self.cuts = 0
        self._server = str(Path(server_folder) / _SOCKET)
        self._mark, self._is_run, self._left = b"", False, 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / _SOCKET))
        self._listener.listen()
        self._open = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, mark, *, is_run, times=1):
        """Cut the next connections that send these bytes: after the server has run them, or before it has seen them."""
        self._mark, self._is_run, self._left = mark, is_run, times

    def close(self):
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._open += [client, server]
            is_cut = threading.Event()
            for source, target, watched in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass, args=(source, target, watched, is_cut), daemon=True).start()

    def _pass(self, source, target, watched, is_cut):
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if watched and self._left and self._mark in data:
                    self._left -= 1
                    self.cuts += 1
                    if not self._is_run:
                        break
                    is_cut.set()
                elif is_cut.is_set() and not watched:
                    if data.endswith(_READY):
                        break
                    continue
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
