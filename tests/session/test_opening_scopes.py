"""A session of a scope is opened, read and searched by whoever names that scope, and by nobody else."""

import pytest

import pageturn as pt
from pageturn.stores import MemoryStore, SqliteStore
from tests.apps.cli.command import run
from tests.sessions import open_session


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else SqliteStore(str(tmp_path / "agent.db"))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("begun", "named", "complaint"),
    [
        ("team", None, "scope: expected the scope of session 's', 'team', with which it was created, got None"),
        ("team", "other", "scope: expected the scope of session 's', 'team', with which it was created, got 'other'"),
        (None, "team", "scope: expected the scope of session 's', none (it was created without one), got 'team'"),
    ],
)
def test_a_session_is_opened_only_by_who_names_its_scope(store, begun, named, complaint):
    session = open_session(store, scope=begun)
    page = session.append(pt.user("the tulip"))
    session.checkpoint()
    head = store.session("s").head
    with pytest.raises(pt.InvalidInput) as refused:
        pt.Session.open(store, id="s", scope=named, model="another", policy=pt.Legacy())
    assert str(refused.value) == complaint
    assert store.session("s").head == head
    assert pt.Session.open(store, id="s", scope=begun).resolve(page).text == "the tulip"


def test_a_fork_is_of_the_scope_of_its_parent_and_opened_as_such(store):
    open_session(store, scope="team").fork("f").fork("g")
    for id in ("f", "g"):
        assert store.session(id).scope == "team"
        with pytest.raises(pt.InvalidInput, match="'team', with which it was created"):
            pt.Session.open(store, id=id)
        assert pt.Session.open(store, id=id, scope="team").reader.scope == "team"


def test_a_search_reaches_no_session_of_another_scope_or_of_none(store):
    for id, scope in (("a", "team"), ("b", "other"), ("c", None)):
        open_session(store, id=id, scope=scope).append(pt.user(f"the tulip of {id}"))
    mine = open_session(store, id="mine", scope="team")
    assert mine.recall("tulip") == pt.NoMatch()
    assert [hit.session for hit in mine.recall("tulip", scope="team").hits] == ["a"]
    assert mine.recall("tulip", scope="other") == pt.Denied("scope 'other' is not granted")
    free = open_session(store, id="free")
    assert free.recall("tulip") == pt.NoMatch()
    assert free.recall("tulip", scope="team") == pt.Denied("scope 'team' is not granted")


def test_what_is_believed_of_agents_is_shared_within_a_scope(store):
    router = pt.Router.open(store, "team a/b")
    router.observe(router.choose(["x", "y"]), True)
    assert pt.Router.open(store, "team a/b").beliefs.state.beliefs
    for scope in ("other", None, "default"):
        assert pt.Router.open(store, scope).beliefs.state.beliefs == {}
    free = pt.Router.open(store)
    free.observe(free.choose(["x", "y"]), True)
    assert pt.Router.open(store).beliefs.state.beliefs
    assert pt.Router.open(store, "default").beliefs.state.beliefs == {}


COMMANDS = [
    ("show",),
    ("recall", "tulip"),
    ("export",),
    ("context",),
    ("diff",),
    ("summarize",),
    ("page", "show", "HANDLE"),
    ("why", "HANDLE"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_shows_a_session_only_to_who_names_its_scope(tmp_path, command):
    path = str(tmp_path / "agent.db")
    handles = {}
    for id, scope in (("secret", "team"), ("open", None)):
        with open_session(path, id=id, scope=scope) as session:
            handles[id] = session.append(pt.user(f"the tulip {id}")).handle
            session.derive()
            session.append(pt.assistant("yes"))
    number = 2 if command[0] == "page" else 1
    words = [*command[:number], path, *command[number:]]
    named = [handles["secret"] if word == "HANDLE" else word for word in words]
    for scope in ((), ("--scope", "other")):
        refused = run(*named, "-s", "secret", *scope)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "scope: expected the scope of session 'secret', 'team'" in refused.stderr
    newest = run(*named)
    assert "the tulip secret" not in newest.stdout
    shown = run(*named, "-s", "secret", "--scope", "team")
    assert shown.returncode == 0, shown.stderr
    without = run(*named, "--scope", "team")
    assert without.stdout == shown.stdout or command[0] == "summarize"
    assert "a session in scope 'none' of this store (none; 2 in other scopes" in run(*named, "--scope", "none").stderr
