"""Notes as each vendor gets them: in their bands, in their order, once each, and never where they would cost the cache."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.tokens.counters import counter_for
from pageturn.values.notes import NoteDecision
from tests.context.checks import check_all, check_notes
from tests.formats.blocks import blocks_of as said_blocks
from tests.formats.test_contexts import MESSAGES, TOOLS, blocks_of, lines, marks_of, read, written
from tests.formats.test_round_trips import by_name
from tests.sessions import Letters, open_session, reopened

Note = pt.ContextMessage
HOISTED = (anthropic, gemini)  # who has instructions only at the beginning


def begun(**options):
    session = open_session(**options)
    session.extend([pt.system("You are careful."), pt.user("Fix the login.")])
    return session


def opening_of(vendor, request):
    """The instructions at the beginning, as texts."""
    if vendor is anthropic:
        system = request["system"]
        return [system] if isinstance(system, str) else [block["text"] for block in system]
    if vendor is gemini:
        return [part["text"] for part in request["config"]["system_instruction"]["parts"]]
    texts = [block["text"] for _, block in said_in(vendor, request)]
    return texts[: texts.index("Fix the login.")]


def said_in(vendor, request):
    """The texts of a request, each with who says it."""
    return [(role, block) for role, block in said_blocks(vendor, request) if "text" in block]


def last_of(vendor, request):
    """Role and text of what is said last."""
    role, block = said_blocks(vendor, request)[-1]
    return role, block["text"]


@by_name
def test_system_and_session_notes_go_with_the_instructions(vendor, checks):
    session = begun()
    session.inject(Note.session("where", "branch: main"))
    session.inject(Note.system("what", "linux"))
    request = vendor.dump(session.derive())
    assert opening_of(vendor, request) == ["You are careful.", "linux", "branch: main"]
    checks[vendor](request)


@by_name
def test_a_suffix_note_is_the_very_last_and_says_whose_words_it_is(vendor, checks):
    session = begun()
    session.inject(Note.suffix_system("end", "Be <system-reminder>brief</system-reminder>."))
    session.extend([pt.assistant(read(1)), pt.tool_result("c1", "text")])
    request = vendor.dump(session.derive())
    role, text = last_of(vendor, request)
    if vendor in HOISTED:
        inner = "Be <\\system-reminder>brief<\\/system-reminder>."
        assert (role, text) == ("user", f"<system-reminder>{inner}</system-reminder>")
        assert vendor.load_request(request).messages[-1].synthetic
    else:
        assert (role, text) == ("system", "Be <system-reminder>brief</system-reminder>.")
    checks[vendor](request)


@by_name
def test_a_new_text_behind_the_history_says_whose_words_it_is(vendor):
    session = begun()
    session.inject(Note.session("git", "branch: main"))
    session.derive()
    session.append(pt.assistant("done"))
    session.inject(Note.session("git", "branch: dev"))
    request = vendor.dump(session.derive())
    assert opening_of(vendor, request)[-1] == "branch: main"
    tagged = "<system-reminder>branch: dev</system-reminder>"
    assert last_of(vendor, request) == (("user", tagged) if vendor in HOISTED else ("system", "branch: dev"))


@by_name
def test_what_is_shown_once_goes_with_the_instructions_of_a_first_request(vendor, checks):
    session = begun()
    session.inject(Note.system("once", "only now", consume_after_emit=True))
    request = vendor.dump(session.derive())
    assert opening_of(vendor, request) == ["You are careful.", "only now"]
    checks[vendor](request)
    session.append(pt.assistant("done"))
    after = session.derive()
    assert after.fold is not None
    assert opening_of(vendor, vendor.dump(after)) == ["You are careful."]


# -- the tags are charged

TAGGED = "<system-reminder>{}</system-reminder>"
MODELS = ("gpt-5", "claude-sonnet-4", "gemini-2.5-pro", "some-model")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("role", [pt.Role.SYSTEM, pt.Role.DEVELOPER])
@pytest.mark.parametrize("make", [Note.system, Note.session, Note.suffix_system])
def test_the_tags_of_a_note_are_charged_whoever_gets_it_and_wherever_it_stands(model, role, make):
    session = begun(model=model)
    before = session.derive().tokens
    session.inject(make("k", "be <system-reminder>brief", role=role))
    context = session.derive()
    (outcome,) = context.notes
    counter = counter_for(model)
    assert outcome.tokens == counter.message(pt.user(TAGGED.format("be <\\system-reminder>brief")))
    assert outcome.tokens > counter.message(pt.user("be <system-reminder>brief"))
    assert context.tokens == before + outcome.tokens


@pytest.mark.parametrize("model", MODELS)
def test_the_tags_of_a_page_that_a_note_became_are_charged(model):
    session = begun(model=model)
    before = session.derive().tokens
    page = session.inject(Note.conversation_internal_system("be brief"))
    assert page.tokens == counter_for(model).message(pt.user(TAGGED.format("be brief")))
    assert session.derive().tokens == before + page.tokens
    assert session.inject(Note.system_reminder("be brief")).tokens == page.tokens  # it has them already
    said = session.inject(Note.conversation_user("be brief"))
    assert said.tokens == counter_for(model).message(pt.user("be brief"))


@pytest.mark.parametrize("vendor", HOISTED, ids=["anthropic", "gemini"])
def test_no_request_is_larger_than_its_count_by_the_tags_of_its_notes(vendor):
    session = begun(counter=Letters(), recall=None, policy=pt.Paged.thrifty(500))
    session.append(pt.assistant("I look."))
    for number in range(12):
        session.inject(Note.suffix_system(f"k{number}", f"note {number}"))
    context = session.derive()
    texts = [message.text for message in vendor.load_request(vendor.dump(context)).messages]
    assert (
        sum(len(text) - text.count("\n") for text in texts) <= context.tokens <= 500
    )  # blocks of one message are joined by lines
    left_out = [outcome for outcome in context.notes if outcome.decision is NoteDecision.OVER_BUDGET]
    assert len(left_out) in range(1, 12)


@by_name
def test_a_reminder_is_not_tagged_twice_and_words_of_the_user_not_at_all(vendor):
    session = begun()
    session.inject(Note.system_reminder("stay"))
    session.pin("Never push.")
    session.inject(Note.suffix_system("u", "said by the user", role=pt.Role.USER))
    texts = written(vendor.dump(session.derive()))
    assert texts.count("system-reminder>stay<") == 1
    rule = "<system-reminder>Never push.</system-reminder>" if vendor in HOISTED else "Never push."
    assert f'"{rule}"' in texts
    assert '"said by the user"' in texts


@by_name
@pytest.mark.parametrize("role", pt.Role)
def test_a_note_of_any_role_goes_out_in_a_valid_request(vendor, role, checks):
    session = open_session()
    session.inject(Note.system("a", "one", role=role))
    session.inject(Note.session("b", "two"))
    session.inject(Note.suffix_system("c", "three", role=role))
    session.append(pt.user("Fix the login."))
    request = vendor.dump(session.derive(TOOLS[vendor]))
    checks[vendor](request)
    texts = written(request)
    places = [texts.index(text) for text in ("one", "two", "Fix the login.", "three")]
    if vendor in (openai_chat, openai_responses):
        assert places == sorted(places)
    if vendor in HOISTED:
        assert request[MESSAGES[vendor]][0]["role"] == "user"


def test_the_cache_ends_behind_base_notes_and_history_and_never_in_the_suffix():
    session = begun()
    for number in range(5):
        session.inject(Note.system(f"s{number}", f"system {number}"))
    session.inject(Note.session("git", "branch: main"))
    session.inject(Note.suffix_system("end", "be brief"))
    for number in range(6):
        request = anthropic.dump(session.derive(TOOLS[anthropic]))
        blocks, marks = blocks_of(request), marks_of(request)
        marked = [blocks[mark].get("text") or blocks[mark].get("name") or blocks[mark]["type"] for mark in marks]
        last = "Fix the login." if number == 0 else "tool_result"
        assert marked == ["You are careful.", "branch: main", last]
        assert marks[-1] == len(blocks) - 2
        session.extend([pt.assistant(f"step {number}", read(number)), pt.tool_result(f"c{number}", "text")])


LASTING = {f"s{number}": f"Lasting note {number}." for number in range(5)}
ONCE = {
    0: Note.system("o0", "Once at first.", consume_after_emit=True),
    5: Note.session("o5", "Once in the middle.", consume_after_emit=True),
    9: Note.suffix_system("o9", "Once at last.", consume_after_emit=True, cooldown_turns=5),
}
CHANGED = "Changed note 2."
COOLING = Note.session("cooling", "Now and then.", cooldown_turns=3)
FAILING, CRASHING, CHANGING, TURNS = (0, 5), 9, 7, 24


def turns_of_trouble(vendor, policy):
    """A session with five lasting notes, one with a cooldown, three that come once, calls that fail, retries and a crash: every
    context that is answered.
    """

    def derive(session):
        return session.derive(TOOLS[vendor], budget_tokens=4_000)

    session = begun(policy=policy)
    for key, text in LASTING.items():
        session.inject(Note.system(key, text))
    session.inject(COOLING)
    for turn in range(TURNS):
        if turn in ONCE:
            session.inject(ONCE[turn])
        if turn == CHANGING:
            session.inject(Note.system("s2", CHANGED))
        context = derive(session)
        if turn in FAILING:  # and is made again
            assert derive(session).messages == context.messages
        if turn == CRASHING:  # before the answer comes
            session = reopened(session)
            assert derive(session).messages == context.messages
        check_all(session, context, 4_000)
        check_notes(session, context)
        assert vendor.dump(derive(reopened(session))) == vendor.dump(context)
        yield turn, context
        session.extend([pt.assistant(f"Step {turn}.", read(turn)), pt.tool_result(f"c{turn}", lines(turn))])


troubled = pytest.mark.parametrize(
    ("vendor", "policy"),
    [(vendor, pt.Paged()) for vendor in MESSAGES]
    + [(anthropic, policy) for policy in (pt.Legacy(), pt.Reset(0), pt.Incremental(0))],
    ids=lambda each: each.kind if isinstance(each, pt.DerivePolicy) else each.__name__.rpartition(".")[2],
)


@troubled
def test_a_session_with_failures_a_retry_and_a_crash_has_the_right_notes_in_every_turn(vendor, policy, checks):
    seen, cooling, folded = [], [], 0
    for turn, context in turns_of_trouble(vendor, policy):
        request = vendor.dump(context)
        checks[vendor](request)
        texts = written(request)
        now = [CHANGED if turn >= CHANGING and key == "s2" else text for key, text in LASTING.items()]
        assert [texts.count(text) for text in now] == [1] * 5
        seen += [(turn, note.key) for note in ONCE.values() if note.content in texts]
        cooling += [turn] if COOLING.content in texts else []
        if context.fold is not None:
            folded += 1
            assert LASTING["s2"] not in texts or turn < CHANGING
        if context.fold is not None or turn < CHANGING:
            assert opening_of(vendor, request)[1:6] == now
    assert seen == [(0, "o0"), (5, "o5"), (9, "o9")]
    assert cooling == [0, 4, 8, 12, 16, 20]
    assert folded >= 2


@troubled
def test_in_such_a_session_the_prefix_holds_between_folds_and_the_cache_ends_four_times_at_most(vendor, policy):
    before, compared = None, 0
    for _, context in turns_of_trouble(vendor, policy):
        if vendor is anthropic:
            assert len(marks_of(anthropic.dump(context))) <= 4
        if before is not None and context.fold is None:
            kept = before.messages[: before.bands.history]
            sent, now = (said_blocks(vendor, vendor.dump(each)) for each in (kept, context.messages))
            assert now[: len(sent)] == sent
            assert opening_of(vendor, vendor.dump(context)) == opening_of(vendor, vendor.dump(before))
            compared += 1
        before = context
    assert compared > 10
