"""Sessions for tests: a clock that ticks by itself, and randomness that repeats."""

import gc
from weakref import WeakKeyDictionary

import pageturn as pt
from pageturn.context.unit_forms import Forms
from pageturn.formats.task_log import read_task_log
from pageturn.journal.journal import Fresh, Journal
from pageturn.recall.resolving import Resolved
from pageturn.session import Parts
from pageturn.stores import Store, open_store
from pageturn.testing import FixedClock as Clock
from pageturn.testing import seeded
from pageturn.tokens.counters import counter_for
from pageturn.writeback.settle import staged

_STORES = WeakKeyDictionary()  # session -> the store that it was opened on, or the path of one
_COUNTERS = WeakKeyDictionary()  # session -> the counter that it was given
_CLOCKS = WeakKeyDictionary()  # session -> its clock


def open_session(url=":memory:", *, id="s", seed=1, clock=None, **options):
    if url == ":memory:":
        url = open_store(url)  # so that others can open the session, too
    clock = clock or Clock()
    session = pt.Session.open(url, id=id, clock=clock, entropy=seeded(seed), **options)
    _CLOCKS[session] = clock
    if "counter" in options:
        _COUNTERS[session] = options["counter"]
    return opened_on(session, url)


def opened_on(session, url):
    """Remember where a session is stored."""
    _STORES[session] = url
    return session


def journaled(**options):
    """A session in memory, and the journal that it writes to, for tests of what follows a journal."""
    begun = open_session(**options)
    journal = journal_of(begun)
    made = pt.Session(journal, Parts(clock=Clock(), entropy=seeded(1)))
    return opened_on(made, journal.store), journal


def forked(session, id, **options):
    """A fork of a session, whose store is known."""
    return opened_on(session.fork(id, **options), _STORES[session])


def store_of(session):
    """The store of a session: the same one, or another on the same file."""
    url = _STORES[session]
    if not isinstance(url, Store):
        url = _STORES[session] = open_store(str(url))
    return url


def journal_of(session):
    """The journal of a session, as another process would read it."""
    return Journal.open(store_of(session), session.id)


def counter_of(session):
    """What a session counts with: the counter that it was given, or that of its model."""
    return _COUNTERS.get(session) or counter_for(session.reader.model)


def clock_of(session):
    """The clock that a session was opened with."""
    return _CLOCKS[session]


def forms_in_memory(session):
    """The forms of units of a session that nobody has let go of."""
    gc.collect()
    pages = {id(page) for page in session.reader.pages(uncounted=True)}
    return [each for each in gc.get_objects() if isinstance(each, Forms) and id(each.unit[0]) in pages]


def write_elsewhere(session, *entries):
    """Write entries as another program would, and let the session read them."""
    fresh = [each if isinstance(each, Fresh) else Fresh(each) for each in entries]
    journal_of(session).append(fresh, at=0)
    session.refresh()


def leave_staged(session, proposal):
    """What is left where a program crashes between staging a proposal and settling it."""
    write_elsewhere(session, staged(proposal, session.reader.state().next_txn))


def facts(session):
    """The entries of a session without their numbers and times."""
    return [each.entry for each in session.reader.entries()]


def reopened(session, **options):
    """The same session, as another process would find it."""
    return open_session(store_of(session), id=session.id, **{"scope": session.reader.scope, **options})


def resolve_range(session, handles):
    """The pages of a range that can be read with their words; a fault where there is none."""
    pages = session.reader.pages_between(handles)
    if isinstance(pages, pt.Fault):
        return pages
    outcomes = [session.resolve(page) for page in pages]
    return tuple(each for each in outcomes if isinstance(each, Resolved)) or outcomes[0]


def take_tasks(session, lines):
    """Set what a task log comes to."""
    log = read_task_log(lines)
    session.plan(log)
    return log


def call(number, name="bash", arguments="{}"):
    return pt.ToolCall(id=f"c{number}", name=name, arguments=arguments)


def take_turn(session, number):
    """A user message, a call, its result."""
    session.append(pt.user(f"question {number}"))
    session.append(pt.assistant(f"answer {number}", call(number)))
    return session.append(pt.tool_result(f"c{number}", f"result {number}"))


def texts(session):
    return [
        message.text or "".join(str(result.content) for result in message.tool_results)
        for message in session.reader.messages()
    ]


class Letters:
    """A counter of the host's own: letters, and nothing else."""

    name, exact = "letters", True

    def text(self, text):
        return len(text)

    def message(self, message):
        return len(message.text) + sum(len(str(result.content)) for result in message.tool_results)

    def tools(self, tools):
        return 0
