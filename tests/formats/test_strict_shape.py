"""Whatever happens in a session, each vendor's strictest reader takes what is dumped of it, and what was sent stays as it was."""

import random
from contextlib import suppress

from hypothesis import event, given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.fillers import CONTINUED
from pageturn.values.messages import File, Text, Thinking, developer
from tests.formats import examples
from tests.formats.blocks import blank_texts, blocks_of, is_prefix
from tests.formats.for_model import dump_for
from tests.formats.test_round_trips import FORMATS
from tests.long import examples as number_of
from tests.sessions import open_session
from tests.strict import anthropic as anthropic_reader
from tests.strict import gemini as gemini_reader
from tests.strict import openai_chat as chat_reader
from tests.strict import openai_responses as responses_reader

MODELS = ("gpt-5", "o3-mini", "claude-opus-4-6", "gemini-3-flash", "gemini-2.5-pro", "mistral-large", "nobody-knows")
POLICIES = (pt.Legacy(), pt.Reset(1_500), pt.Incremental(1_500), pt.Paged.thrifty(1_500))
PICTURE = pt.Image(url=f"data:image/png;base64,{examples.PNG}")
DRAWING = pt.Image(url="data:image/svg+xml;base64,PHN2Zy8+")
DOCUMENT = File(path=f"data:application/pdf;base64,{examples.PDF}")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


READERS = {
    anthropic: anthropic_reader,
    gemini: gemini_reader,
    openai_chat: chat_reader,
    openai_responses: responses_reader,
}


def problems_of(vendor, request, model):
    """What a strict reader finds; that the host offers no tools is no affair of ours."""
    template = {"template": not model.startswith(("gpt-", "o3"))} if vendor is openai_chat else {}
    known = model if {anthropic: "claude", gemini: "gemini"}.get(vendor, "") in model else None
    found = READERS[vendor].problems(request, model=known, **template)
    return [problem for problem in found if problem.code != "tools_undefined"]


def without_last_filler(blocks):
    """Blocks without the words that only stand there because the rest of the request was cut off."""
    return blocks[:-1] if blocks and CONTINUED in str(blocks[-1]) else blocks


class Play:
    """A session to which things happen, chosen by a source of randomness."""

    def __init__(self, seed, **options):
        self.random = random.Random(seed)
        self.session = open_session(seed=seed, **options)
        self.open, self.late, self.count = [], [], 0
        self.sent = None  # the last context that was answered
        self.compared = 0

    def happen(self, what):
        getattr(self, what)()

    def text(self):
        self.count += 1
        return self.random.choice([f"Word {self.count}.", f"Much of {self.count}. " * 60, "ok", "", "  \n"])

    # -- people and programs

    def user(self):
        extra = self.random.choice([(), (PICTURE,), (DRAWING, DOCUMENT), (pt.Image(url="https://e.org/a.png"),)])
        self.session.append(pt.user(self.text(), *extra))

    def instruction(self):
        self.session.append(self.random.choice([pt.system, developer])(self.text() or "Instruct.", PICTURE))

    def pin(self):
        self.count += 1
        if self.count < 60:
            with suppress(pt.BudgetTooSmall):
                self.session.pin(f"Never touch {self.count}.")

    def note(self):
        self.count += 1
        note = pt.ContextMessage(
            key=f"n{self.count % 5}",
            content=f"Note {self.count}.",
            role=self.random.choice([pt.Role.SYSTEM, pt.Role.USER, pt.Role.DEVELOPER]),
            target=self.random.choice(list(pt.ContextMessageTarget)),
        )
        self.session.inject(note)

    # -- the model

    def answer(self):
        thought = self.random.choice(
            [
                (),
                (Thinking(text="hm", signature="sig=="),),
                (Thinking(text="elsewhere", extra={"gemini": {}}),),
                openai_responses.load_messages([REASONING | {"id": f"rs_{self.count}"}])[0].content,
            ]
        )
        calls = [self.call() for _ in range(self.random.choice([0, 0, 1, 2, 3]))]
        words = [Text(text=self.text()) for _ in range(self.random.choice([0, 1, 1, 2]))]
        self.reply(pt.assistant(*thought, *words, *self.random.choice([(), (), (PICTURE,)]), *calls))
        self.open += calls

    def foreign(self):
        self.reply(pt.assistant(Thinking(text="only thought", extra={"other": {}})))

    def item(self):
        """An answer as the vendor's own response had it, with the ids of its items and without its reasoning."""
        call = self.call()
        items = [
            {"type": "message", "id": f"msg_{self.count}", "role": "assistant", "status": "completed"}
            | {"content": [{"type": "output_text", "text": "Look.", "annotations": []}]},
            {"type": "function_call", "id": f"fc_{self.count}", "call_id": call.id, "name": "read", "arguments": "{}"},
        ]
        self.reply(openai_responses.load_messages(items)[0])
        self.open.append(call)

    def call(self):
        self.count += 1
        id_ = self.random.choice([f"call_{self.count}", f"call/é{self.count}" * 20, "same"])
        arguments = self.random.choice(["{}", f'{{"path": "a{self.count}.py"}}', "{not json", ""])
        signature = self.random.choice([None, "c2ln"])
        extra = self.random.choice([None, {"gemini": {}}])
        name = self.random.choice(["read", "git.hub search"])
        return pt.ToolCall(id=id_, name=name, arguments=arguments, thought_signature=signature, extra=extra)

    def reply(self, message):
        context = self.derive()
        if context is not None:
            self.compare(context)
        self.session.append(message)
        self.late += self.open
        self.open = []

    # -- tools

    def result(self):
        if self.open:
            self.give(self.open.pop(self.random.randrange(len(self.open))))

    def late_result(self):
        if self.late:
            self.give(self.late.pop())

    def give(self, call):
        media = self.random.choice([(), (), (PICTURE,), (DRAWING,), (DOCUMENT,)])
        content = self.random.choice(["", "done", "line\n" * 200, " "])
        self.session.append(pt.tool_result(call, content, *media, is_error=self.random.random() < 0.2))

    # -- what goes out

    def derive(self):
        try:
            context = self.session.derive()
        except pt.BudgetTooSmall:
            return None
        for vendor in FORMATS:
            request = vendor.dump(context)
            problems = problems_of(vendor, request, context.model)
            assert not problems, (vendor.VENDOR, list(map(str, problems)), request)
            assert not blank_texts(request), (vendor.VENDOR, request)
        return context

    def compare(self, context):
        before, self.sent = self.sent, context
        if before is None or context.fold is not None or before.model != context.model:
            return
        kept = before.messages[: before.bands.history]
        if context.messages[: len(kept)] != kept:
            return  # what a session shows again is not the formats' affair
        self.compared += 1
        for vendor in FORMATS:
            old = without_last_filler(blocks_of(vendor, dump_for(vendor, kept, context.model)))
            new = blocks_of(vendor, vendor.dump(context))
            assert is_prefix(vendor, old, new), (vendor.VENDOR, old, new[: len(old)])


HAPPENINGS = ("user", "user", "instruction", "pin", "note", "note", "answer", "answer", "answer", "foreign", "item")
HAPPENINGS += ("result", "result", "result", "result", "late_result")


@settings(max_examples=number_of(60, whole=4_000), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(POLICIES),
    st.sampled_from(MODELS),
    st.booleans(),
    st.lists(st.sampled_from(HAPPENINGS), min_size=4, max_size=40),
)
def test_every_context_of_any_session_passes_and_begins_with_what_was_sent(seed, policy, model, recall, happenings):
    options = {} if recall else {"recall": None}
    play = Play(seed, policy=policy, model=model, **options)
    for what in happenings:
        play.happen(what)
    play.derive()
    event(f"compared: {play.compared > 2}")


class Thinker(Play):
    """A session of one vendor's model that thinks before every answer, and what was sent to it."""

    def __init__(self, seed, vendor, **options):
        super().__init__(seed, **options)
        self.vendor, self.requests = vendor, []

    def foreign(self):
        """An answer that is nothing but thinking."""
        self.reply(pt.assistant())

    def reply(self, message):
        self.count += 1
        thought = {
            anthropic: Thinking(text="hm", signature=f"sig{self.count}"),
            openai_responses: openai_responses.load_messages([REASONING | {"id": f"rs_{self.count}t"}])[0].content[0],
        }[self.vendor]
        said = [part for part in message.content if not isinstance(part, Thinking)]
        self.requests.append(self.vendor.dump(self.session.derive()))
        self.session.append(pt.assistant(thought, *said))
        self.late += self.open
        self.open = []


@settings(max_examples=number_of(30, whole=1_500), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([(anthropic, "claude-opus-5-5"), (openai_responses, "gpt-6")]),
    st.lists(st.sampled_from([each for each in HAPPENINGS if each not in ("note", "item")]), min_size=4, max_size=30),
)
def test_without_a_fold_reasoning_stands_behind_the_requests_that_it_answered(seed, vendor_and_model, happenings):
    vendor, model = vendor_and_model
    play = Thinker(seed, vendor, policy=pt.Paged.thrifty(150_000), model=model)
    for what in happenings:
        play.happen(what)
    context = play.session.derive()
    if context.fold is None:
        found = READERS[vendor].problems(vendor.dump(context), model=model, previous=play.requests)
        assert not [str(problem) for problem in found if problem.code.startswith("reasoning")]
