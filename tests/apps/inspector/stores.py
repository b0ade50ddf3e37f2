"""Stores that the inspector looks at: an agent's work with folds, one with everything odd, and one of ten thousand pages."""

import json

import pageturn as pt
from pageturn.routing.router import Router
from tests.sessions import call, open_session

TASK = "Make the session of src/auth/login.py expire after 30 minutes."
HOSTILE = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\"><svg onload=alert(1)></svg>"
    "</script></pre><style>body{display:none}</style><a href=javascript:alert(1)>x</a>"
    "\x1b[2J\x1b]0;pwned\x07\x1b]8;;http://evil\x07 \u202eesrever\u202c zero\u200bwidth\u2066 \u2028 \U000e0041 \x00"
)


def work(session, turns, *, lines=40, usage=None, model=None, first=0):
    """So many turns: a file is read, with names of its own; the contexts that they began with."""
    contexts = []
    for number in range(first, first + turns):
        context = session.derive(model=model)
        contexts.append(context)
        asked = call(number, "read_file", json.dumps({"path": f"src/part_{number % 7}.py"}))
        reported = usage(context) if usage is not None else None
        session.append(pt.assistant(f"I read part {number}.", asked), usage=reported)
        session.append(pt.tool_result(asked, f"value_{number} = compute_{number}()\n" * lines))
    return contexts


def as_reported(context):
    """What a provider says of a context: a little more than we count, most of it from its cache."""
    total = context.tokens + 200
    read = 0 if context.fold is not None else total * 9 // 10
    return pt.Usage(input_tokens=total, output_tokens=40, cache_read_tokens=read, cache_write_tokens=total - read)


def agent(file, id="login-bug", *, turns=30, budget=4_000, model="claude-sonnet-5", usage=as_reported, **options):
    """A session that folds; the contexts that its turns were sent."""
    with open_session(file, id=id, model=model, policy=pt.Paged(budget_tokens=budget), **options) as session:
        session.append(pt.system("You are a coding agent."))
        session.pin("Never push to main.")
        session.append(pt.user(TASK))
        return work(session, turns, usage=usage)


def odd(file):
    """Hostile words in every place, hidden ones, undone and erased ones, a fork, and one of another scope."""
    with open_session(file, id="hostile", seed=2, model="gpt-5") as session:
        session.append(pt.system("You are careful."))
        session.append(pt.user(f"{HOSTILE} begins the task"))
        session.derive()
        asked = pt.ToolCall(id="c1", name="<b>tool</b>", arguments=json.dumps({"path": HOSTILE}))
        session.append(pt.assistant(HOSTILE, asked))
        session.append(pt.tool_result(asked, HOSTILE))
        session.derive()
        session.append(pt.assistant("done"))
        session.append(pt.user("x" * 300_000))
        session.append(pt.user("Only the model may see this: swordfish.", visibility=pt.Visibility.INTERNAL))
        session.derive()
        session.append(pt.assistant("seen"))
        session.append(pt.user("Try this."))
        session.derive()
        session.append(pt.assistant("a wrong turn"))
        session.undo()
        gone = session.append(pt.user("this is erased: xyzzy"))
        session.derive()
        session.append(pt.assistant("the last answer"))
        session.erase(gone.handle)
        session.fork("hostile-fork").close()
    with open_session(file, id="other-tenant", seed=3, scope="tenant-b") as session:
        session.append(pt.user("another scope"))


def routed(file):
    """Decisions between two models, with outcomes."""
    router = Router.open(file, rng=1)
    for number in range(12):
        decision = router.choose(["openai/gpt-5", "anthropic/claude-opus-5"], "model_call", {"domain": "sql"})
        if number < 11:
            router.observe(decision, number % 3 != 0)
    router.flush()
