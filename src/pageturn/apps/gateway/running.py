"""Runs a gateway: until it is stopped, or for one client, as in `pageturn run -- claude`.

The client has the terminal, and receives the terminal's signals as it would without the gateway. The gateway runs in a thread of this
process, so it ends with the client, and never outlives it.
"""

import logging
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from pageturn.apps.gateway.clients import client_of, launch, vendor_of
from pageturn.apps.gateway.config import NOTHING, VIRTUAL, Config, usual_file
from pageturn.apps.gateway.counts import Tally
from pageturn.apps.gateway.inspected import inspected_for
from pageturn.apps.gateway.journaling import Journaling
from pageturn.apps.gateway.manage import Manage
from pageturn.apps.gateway.modes import Mode
from pageturn.apps.gateway.reasons import why_failed
from pageturn.apps.gateway.recalling import Recalling
from pageturn.apps.gateway.savings import account_of, in_short
from pageturn.apps.gateway.server import Gateway
from pageturn.apps.gateway.tenants.separated import SeparatedModes
from pageturn.apps.gateway.watch import Watch
from pageturn.stores import Slot, open_store, shown
from pageturn.values.errors import InvalidInput, PageturnError

Say = Callable[[str], None]

_DONE = {"watch": "watched", "manage": "managed", "recall": "managed"}
_MOST_TURNS = 500  # of which the savings are worked out at the end; `pageturn savings` takes any number
_NOT_FOUND = 127  # as shells say
_BY_SIGNAL = 128  # and the number of the signal
_OF_THE_TERMINAL = ("SIGINT", "SIGQUIT")  # the terminal sends them to the client too
_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1")
_SWITCH = "SIGUSR2"
_GRACE_OF_RUN = 3  # seconds: the client has gone


def serve(config: Config, say: Say) -> None:
    """Listen until a signal to stop, and print what was seen."""
    _leave_no_core_file()
    mode = mode_for(config)
    inspected = inspected_for(config)
    gateway = Gateway(config, mode, starts=start_store(config, say), inspected=inspected)
    say(
        f"{config.mode} mode at {gateway.url}; clients use ANTHROPIC_BASE_URL={gateway.url} or OPENAI_BASE_URL={gateway.url}/v1"
    )
    if inspected is not None:
        say(f"what the models see, in a browser: {inspected.address(gateway.url, shows_token=config.token is None)}")
    stopped = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that there is a last word
    try:
        with switchable(mode, say):
            gateway.serve()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, stopped)
        mode.close()
        for line in closing_lines(mode.tally(), config):
            say(line)


def _leave_no_core_file() -> None:
    """If the process crashes, its memory is not written to the disk: keys are in it."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such file
        import resource  # noqa: PLC0415

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def run_client(config: Config, command: Sequence[str], say: Say) -> int:
    """Run a client to its end; returns its exit code."""
    if shutil.which(command[0]) is None:
        say(f"there is no command {command[0]!r}")
        return _NOT_FOUND
    logging.getLogger().addHandler(
        logging.NullHandler()
    )  # the terminal is the client's; what happened is said at the end
    mode = mode_for(config)
    own = config._replace(
        host="127.0.0.1", port=0, token=None, grace=_GRACE_OF_RUN, other=config.other or vendor_of(command)
    )
    gateway = Gateway(own, mode, starts=start_store(config, say))
    code = 1
    with tempfile.TemporaryDirectory(prefix="pageturn-") as folder, switchable(mode), gateway:
        if gateway.failure is None:
            start = launch(command, gateway.url, Path(folder))
            code = _run(start.command, start.environ)
    mode.close()
    if gateway.failure is not None:
        say(f"the gateway failed ({type(gateway.failure).__name__}); to go on without it: {shlex.join(command)}")
    for line in closing_lines(mode.tally(), config, client_of(command) or Path(command[0]).name):
        say(line)
    return code


def mode_for(config: Config) -> Mode:
    """The mode of a configuration; with virtual keys one for each scope."""
    if config.keys == VIRTUAL:
        return SeparatedModes(lambda scope: _mode_for(config, scope))
    return _mode_for(config, None)


def _mode_for(config: Config, scope: str | None) -> Watch | Manage:
    """The mode of one scope. Without a store nothing can be derived."""
    if config.mode == "watch":
        return Watch(Journaling(config.store, scope))
    if config.store is None:
        raise InvalidInput("store", expected=f"one, since {config.mode} derives from it", got=NOTHING)
    drops = config.billing_line == "drop"
    # The one for `recall` also serves `manage`, for the sessions that began with the recall tool.
    return Recalling(config.store, config.mode, config.room, scope, drops_billing_line=drops)


@contextmanager
def switchable(mode: Mode, say: Say = lambda _: None) -> Iterator[None]:
    """Within it, a signal switches management off and on again."""
    number = getattr(signal, _SWITCH, None)
    if number is None or not isinstance(mode, Manage):
        yield
        return

    def switch(_number: int, _frame: FrameType | None) -> None:
        mode.is_on = not mode.is_on
        say(f"management is {'on' if mode.is_on else 'off'}")

    before = signal.signal(number, switch)
    try:
        yield
    finally:
        signal.signal(number, before)


def start_store(config: Config, say: Say) -> int:
    """Open the store for the first time, and print where it is if it is new, or why it cannot be used.

    Returns how many gateways were started on it, with this one: one that restarts again and again should be noticed.
    """
    if config.store is None:
        return 1
    file = config.store_file
    is_new = file is not None and not file.exists()
    try:
        if file is not None:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        starts = _count_start(config.store)
    except (PageturnError, OSError, ValueError) as error:
        say(f"{file or shown(config.store)} cannot be used: {why_failed(error)}")
        say("as long as that is so, calls pass as they come, nothing is kept, and what was shortened before is refused")
        return 1
    if is_new:
        say(f"first run: the conversations that pass are kept in {file}, readable by you alone, until you remove it")
        say(f'keys are never kept; to keep nothing at all: --store {NOTHING}, or store = "{NOTHING}" in {usual_file()}')
    return starts


def _count_start(url: str) -> int:
    slot = Slot("gateway/starts", "count")

    def change(found: Mapping[Slot, bytes | None]) -> dict[Slot, bytes | None]:
        return {slot: str(int(found.get(slot) or b"0") + 1).encode()}

    with closing(open_store(url)) as store:
        store.amend([slot], change)
        return int(store.document(slot) or b"1")


def closing_lines(tally: Tally, config: Config, client: str | None = None) -> Iterator[str]:
    """The last lines: turns, tokens, and the commands for details."""
    of_client, whose = (f" of {client}", f"{client}'s own") if client is not None else ("", "a client's own")
    file = config.store_file
    is_gone = file is not None and not file.exists()
    turns, sessions = _counted(tally.turns, "turn"), _counted(len(tally.sessions), "session")
    passed = ", ".join(f"{reason} ({number})" for reason, number in tally.passed.most_common(3))
    where = f" in {sessions}" if config.store is not None else ", none of them stored"
    words = ", ".join(f"{done} ({number})" for done, number in tally.new_words.most_common())
    more = f"{f'; passed over: {passed}' if passed else ''}{f'; long new words: {words}' if words else ''}"
    yield f"{_DONE[config.mode]} {turns}{of_client}{where}{more}"
    used = tally.usage
    if not used.input_tokens and not tally.turns:
        if tally.passed:
            yield "calls of a model came through, but none was both answered and recorded, for the reasons above"
        else:
            yield f"no call of a model came through; does a setting of {whose} name another address?"
    else:
        cached = f" ({used.cache_read_tokens:,} of them from its cache)" if used.cache_read_tokens else ""
        counted = f"the provider counted {used.input_tokens:,} tokens in{cached} and {used.output_tokens:,} out"
        yield "; ".join((counted, *(() if is_gone else _savings(tally, config))))
    if is_gone and tally.turns:
        yield f"{file} is gone, and with it what was kept"
    elif file is not None and tally.sessions:
        yield f"to look closer: pageturn savings {file}, or pageturn sessions {file}"


def _savings(tally: Tally, config: Config) -> Iterator[str]:
    """What the sessions cost and would have cost; nothing where that takes too long to find out, or cannot be."""
    if config.store is None or not tally.sessions or tally.turns > _MOST_TURNS:
        return
    try:
        with closing(open_store(config.store)) as store:
            found = [account_of(store, each, room=config.room) for each in sorted(tally.sessions)]
        yield from in_short([each for each in found if each is not None])
    except (PageturnError, OSError) as error:
        yield f"what managing would have saved is not known ({why_failed(error)})"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _run(command: Sequence[str], environ: dict[str, str]) -> int:
    with _signals() as pass_to:
        client = subprocess.Popen(command, env=environ)  # noqa: S603 - what the user asked for
        pass_to(client.pid)
        code = _waited(client) if sys.platform != "win32" else client.wait()
    return code if code >= 0 else _BY_SIGNAL - code


def _waited(client: subprocess.Popen[Any]) -> int:
    """Wait for the client, and stop with it: it may stop itself, and then the shell should have the terminal."""
    while True:
        _, status = os.waitpid(client.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            client.returncode = os.waitstatus_to_exitcode(status)
            return client.returncode
        os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(ProcessLookupError):
            os.kill(client.pid, signal.SIGCONT)


@contextmanager
def _signals() -> Iterator[Callable[[int], None]]:
    """Within it, we ignore what the terminal sends to the client anyway, and pass on what is sent to us: to the process that is named.

    What came before it was named is passed on then. Handlers, since what is ignored would be ignored by the client too.
    """
    clients: list[int] = []
    early: list[int] = []

    def ignore(_number: int, _frame: FrameType | None) -> None:
        pass

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if not clients:
            early.append(number)
        for pid in clients:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def pass_to(pid: int) -> None:
        clients.append(pid)
        for number in early:
            pass_on(number, None)

    handlers = dict.fromkeys(_OF_THE_TERMINAL, ignore) | dict.fromkeys(_PASSED_ON, pass_on)
    known = {number: handler for name, handler in handlers.items() if (number := getattr(signal, name, None))}
    before = {number: signal.signal(number, handler) for number, handler in known.items()}
    try:
        yield pass_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
