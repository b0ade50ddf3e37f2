"""Every method of the public API with the type that it gives, as a user annotates it. Checked by `mypy --strict` in `make check`, never run."""

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.journal.erasing import Erased
from pageturn.values.prompt import Prompt


def use_of(*values: object) -> None:
    """Take anything."""


def use(session: pt.Session) -> None:
    page: pt.Page = session.append(pt.user("hi"), pt.Usage(input_tokens=3))
    pages: tuple[pt.Page, ...] = session.extend([pt.user("a"), pt.assistant("b")])
    calls: tuple[pt.ToolCall, ...] = session.pending()
    opening: pt.Page = session.set_system("S")
    context: pt.Context = session.derive(tools=[{"type": "function"}], model="gpt-5", budget_tokens=4_000)
    answered: bool = session.answer()
    tighter: bool = session.overflow(Exception("prompt is too long"))
    rule: pt.Page = session.pin("Never.", structured="Never.")
    session.unpin(rule)
    plan: pt.Page = session.plan("goal", ["a"], 0)
    wish: pt.Page = session.prefer("tabs", scope="repo")
    note: pt.Page | None = session.inject(pt.ContextMessage.session("git", "x"))
    session.retract("git", now=True)
    match session.recall("q", 3, where={"role": "tool"}, sessions=["x"], budget_tokens=100):
        case pt.Recalled(hits=hits):
            text: str = hits[0].excerpt
            use_of(text)
        case pt.Fault() as fault:
            code: str = fault.code
            use_of(code)
    found = session.resolve(page)
    if isinstance(found, pt.Resolved):
        use_of(found.text)
    outcome = session.write_back(pt.Proposal(field="preference", value="x", evidence=(page.handle,)))
    match outcome:
        case pt.Committed() | pt.Rejected():
            pass
        case pt.Waiting(txn=txn):
            done: pt.Committed | pt.Rejected = session.approve(txn)
            session.reject(txn, "no")
            use_of(done)
    for waiting in session.waiting():
        use_of(waiting.id, waiting.text)
    fresh: pt.Page = session.reset("summary", force=True)
    miss: pt.FlushMiss | None = session.checkpoint()
    fork: pt.Session = session.fork("other")
    session.undo(1)
    erased: Erased = session.erase(page.handle)
    reader: pt.SessionReader = session.reader
    messages: tuple[pt.Message, ...] = reader.messages()
    use_of(
        reader.pages()[0],
        reader.turns()[0].usage,
        reader.faults(),
        reader.entries()[0].entry,
        reader.explain(page.handle),
    )
    with pt.SessionReader.open("agent.db", "x") as stored:
        use_of(stored.policy, stored.model)
    for info in pt.sessions("agent.db"):
        use_of(info.id)
    again: pt.Context = pt.from_json(pt.Context, pt.to_json(context))
    use_of(
        again.messages,
        again.tools,
        again.tokens,
        again.layout,
        again.notes,
        again.wanted,
        again.faults,
        again.fold,
        again.explain(page.handle),
    )
    for module in (openai_chat, openai_responses, anthropic, gemini):
        body: dict[str, object] = module.dump(context)
        prompt: Prompt = module.load_request(body)
        reply: pt.Message = module.load_reply({})
        several: list[pt.Message] = module.load_messages([])
        stream = module.Stream()
        stream.feed({})
        made: pt.Message | None = stream.message
        use_of(prompt, reply, several, made)
    use_of(pages, calls, opening, answered, tighter, plan, wish, note, fresh, miss, fork, erased, messages)
    session.close()
