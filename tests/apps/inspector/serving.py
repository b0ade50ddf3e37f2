"""The inspector as its command starts it, in a process of its own on a free port."""

import http.client
import os
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def serving(store, *options, token=None):
    """The port of a server; what it said is checked when it ends."""
    environ = {**os.environ, **({"PAGETURN_TOKEN": token} if token else {})}
    command = [sys.executable, "-m", "pageturn", "inspect", str(store), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ) as server:
        try:
            line = server.stderr.readline()
            assert "is at http://127.0.0.1:" in line, line
            yield int(line.rsplit(":", 1)[1].strip(" /\n"))
        finally:
            server.terminate()
            rest = server.stderr.read()
            assert token is None or token not in line + rest
            assert "Traceback" not in rest, rest


def get(port, path, method="GET", **headers):
    """The status, headers and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()
