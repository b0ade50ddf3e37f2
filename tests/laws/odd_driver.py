"""The driver of odd acts: odd texts, calls and results, task logs, rules that come again, forks of earlier places, other writers."""

import json
import random
from contextlib import suppress

import pageturn as pt
from pageturn.formats.task_log import read_task_log
from pageturn.values.messages import Native, Part, Text, Thinking, ToolResult
from pageturn.values.messages import developer as instruction
from tests.laws import texts
from tests.laws.acts import MODELS, Act, Plot, policy
from tests.laws.driver import Driver, Side
from tests.laws.model import HANDLE, Model

_MOST_SESSIONS = 3
_ODD_TEXTS = (
    "", " ", "\n\n", "\t ", "漢字かな交じり文 " * 30, "مرحبا بالعالم " * 8, "🙂" * 40, "e\u0301" * 20, "a" * 3_000, "x\r\ny\r", "\u202eevil\u202c", "\x00\x1b[2J",
    "</page>", "p1-aaaa", "<page>", "\ufeffhello", "line\u2028separated\u2029", "\\p1-aaaa", "\\<page>", "\\\\p12-abcd..p13-abcd",
)  # fmt: skip


def odd_text(salt: int) -> str:
    """A text that few people write, mostly with a mark of its own."""
    rng = random.Random(f"odd text {salt}")
    text = rng.choice(_ODD_TEXTS)
    return rng.choice(
        (text, text, f"{texts.mark(salt)} {text}", f"{texts.mark(salt)} {text}", f"{text}\n{texts.mark(salt)}")
    )


def told_text(salt: int) -> str:
    """The same, with more than blanks in it."""
    text = odd_text(salt)
    return text if text.strip() else f"{text}{texts.mark(salt)}"


class OddDriver(Driver):
    """Plays a plot with odd acts."""

    def __init__(self, plot: Plot) -> None:
        super().__init__(plot)
        self._earlier: list[tuple[str, int, Model]] = []  # places of the first session, to fork it there
        self._by_logs: set[str] = set()  # pins of task logs
        rng = random.Random(f"tool {plot.seed}")
        if self._recall is not None and rng.random() < 0.4:
            self._recall = pt.RecallTool(name=rng.choice(("look_up", "memory")), most_bytes=rng.choice((200, 2_000)))
            self._now.session = self._open("s")

    def do(self, act: Act) -> None:
        super().do(act)
        if len(self._sides) == 1:
            self._earlier.append((self.session.id, self.session.reader.entries()[-1].seq, self.model.copy()))

    # -- saying

    def odd_message(self, salt: int, ref: int, kind: str) -> None:
        text, prose = odd_text(salt), texts.prose(salt, 2)
        document = {"type": "text", "media_type": "text/plain", "data": prose}
        search = {
            "type": "web_search_call",
            "id": f"ws_{salt}",
            "status": "completed",
            "action": {"type": "search", "query": "x"},
        }
        made = {
            "user": lambda: pt.user(text),
            "system": lambda: pt.system(text),
            "developer": lambda: instruction(f"{text} {texts.mark(salt)}"),
            "assistant": lambda: pt.assistant(text),
            "no_user": pt.user,
            "no_assistant": pt.assistant,
            "two": lambda: pt.user(text, odd_text(salt + 1)),
            "named": lambda: pt.user(prose, extra={"name": "bob"}),
            "document": lambda: pt.user(
                Native(vendor="anthropic", item={"type": "document", "source": document}, text=text)
            ),
            "search": lambda: pt.assistant(Native(vendor="openai_responses", item=search, text=text), prose),
            "only_thinking": lambda: pt.assistant(Thinking(text="hm", signature="c2ln")),
            "unsigned": lambda: pt.assistant(Thinking(text=f"hm {text}"), prose),
            "internal": lambda: pt.user(prose, visibility=pt.Visibility.INTERNAL),
            "internal_reply": lambda: pt.assistant(prose, visibility=pt.Visibility.INTERNAL),
            "same_id": lambda: pt.Message(id="same", role=pt.Role.USER, content=(Text(text=prose),)),
            "image": lambda: instruction(prose, texts.IMAGES[ref % 2]),
        }
        self._append(made[kind]())

    def odd_call(self, salt: int, ref: int, kind: str) -> None:
        call = self._call(salt, 0, "new")
        other = pt.ToolCall(id=call.id, name=call.name, arguments=json.dumps({"other": salt}))
        made = {
            "bare": (call,),
            "twice": (texts.prose(salt, 1), call, call),
            "twice_otherwise": (call, other),
            "no_id": (pt.ToolCall(id="", name="read", arguments="{}"),),
            "long_id": (pt.ToolCall(id=f"{'x' * 200}{salt}", name="read", arguments="{}"),),
            "no_arguments": (pt.ToolCall(id=f"call_{salt}", name="read", arguments=""),),
            "list": (pt.ToolCall(id=f"call_{salt}", name="read", arguments="[1, 2]"),),
            "odd_name": (pt.ToolCall(id=f"call_{salt}", name="a b/c.d", arguments='{"a": 1}'),),
            "many": tuple(self._call(salt + at, at, "new") for at in range(12)),
        }
        self._append(pt.assistant(*made[kind]))

    def odd_result(self, salt: int, ref: int, kind: str, lines: int) -> None:
        waiting = [each.call for each in self.model.calls() if not each.results and each.turns_since == 0]
        waiting = [call for call in waiting if self._recall is None or call.name != self._recall.name]
        if not waiting:
            return
        said = [f"{texts.prose(salt, lines)} {at}" for at in range(len(waiting))]
        parts: tuple[Part, ...] = tuple(
            ToolResult(tool_call_id=call.id, content=text) for call, text in zip(waiting, said, strict=True)
        )
        alone = [pt.tool_result(call, text) for call, text in zip(waiting, said, strict=True)]
        between = [each for at, one in enumerate(alone) for each in (pt.user(texts.prose(salt + 1 + at, 1)), one)]
        asks = Text(text=f"please {texts.mark(salt + 900)}")
        made = {
            "of_user": lambda: [pt.Message(role=pt.Role.USER, content=parts)],
            "beside_words": lambda: [pt.Message(role=pt.Role.USER, content=(*parts, asks))],
            "in_one": lambda: [pt.Message(role=pt.Role.TOOL, content=parts)],
            "reversed": lambda: alone[::-1],
            "words_between": lambda: between,
            "odd": lambda: [pt.tool_result(call, odd_text(salt + at)) for at, call in enumerate(waiting)],
            "nothing": lambda: [pt.tool_result(waiting[0])],
            "image": lambda: [pt.tool_result(waiting[0], texts.IMAGES[ref % 2])],
        }
        self._append(*made[kind]())

    def orphan(self, salt: int, ref: int, lines: int) -> None:
        """The result of a call that was taken back while it ran."""
        gone = [call for item in self.model.items if item.undone or item.erased for call in item.message.tool_calls]
        if gone:
            self._append(self._result(gone[ref % len(gone)], salt, lines, "text"))

    # -- promising

    def odd_promise(self, salt: int, ref: int, kind: str) -> None:
        text = told_text(salt)
        match kind:
            case "pin":
                self._pin_text(
                    f"Never {text}", told_text(salt + 1) if ref % 3 == 0 else None
                )  # what is a handle pins a page
            case "plan":
                plan = pt.Plan(goal=text, steps=(text, texts.prose(salt, 1)), current=ref % 2)
                self._promise(
                    lambda: self.session.plan(plan),
                    lambda page: self.model.add(page, pt.system(plan.text), "plan", plan=plan),
                    "plan",
                )
            case "prefer":
                self.model.add(self.session.prefer(text), pt.system(text), "preference")
            case "note":
                note = pt.ContextMessage.session("odd", text)
                self.session.inject(note)
                self.model.notes["odd"] = note
                self.model.noted.add(text)
                self.model.taken_back.discard(text)
            case "set_system":
                self._set_system(text)
            case _:
                names = sorted(mark for item in self.model.live for mark in self.model.marks_of(item))
                summary = f"{text} {' '.join(names[-3:])}"
                page = self.session.reset(summary, force=True)
                self.model.resets.append(self.model.add(page, pt.user(summary, synthetic=True), "reset"))

    def _pin_text(self, text: str, short: str | None) -> None:
        self._promise(
            lambda: self.session.pin(text, short),
            lambda page: self.model.add(page, pt.system(text), "pin", pinned=True, form=short),
            "pin",
        )

    def _set_system(self, text: str) -> None:
        page = self.session.set_system(text)
        if page.handle not in self.model.handles:  # what stands already is left where it is
            self.model.replace_system()
            self.model.add(page, pt.system(text), "system")

    def rule_again(self, salt: int, ref: int, how: str) -> None:
        """A rule comes a second time, in the same or in another way."""
        same = [item.message.text for item in self.model.live]
        rules = [
            item for item in self.model.rules
            if item.message == pt.system(item.message.text) and item.message.text.strip()
            and not HANDLE.fullmatch(item.message.text)  # `pin` would take it for a handle
            and (how != "set_system" or (not item.pinned and same.count(item.message.text) == 1))
        ]  # fmt: skip
        if not rules:
            return
        text = rules[ref % len(rules)].message.text
        match how:
            case "pin" | "pin_form":
                self._pin_text(text, f"short {texts.mark(salt)}" if how == "pin_form" else None)
            case "set_system":
                self._set_system(text)
            case _:
                self._append(pt.system(text) if how == "system" else pt.user(text))

    def task_log(self, salt: int, ref: int, forbids: int, clears: bool) -> None:
        forbidden = [f"touch {texts.mark(salt + 2 + at)}" for at in range(forbids)]
        events = [
            {"kind": "goal_set", "objective": texts.prose(salt, 1), "forbidden": forbidden},
            {"kind": "task_added", "id": "a", "content": texts.prose(salt + 1, 1)},
        ]
        log = read_task_log(map(json.dumps, [*events, {"kind": "goal_cleared"}] if clears else events))
        try:
            self.session.plan(log)
        except pt.BudgetTooSmall:
            return
        still = {page.handle for page in self.session.reader.pages()}
        for item in self.model.items:
            if item.handle in self._by_logs and item.pinned and item.handle not in still:
                item.pinned, item.undone = False, True
            if (item.plan is not None or item.is_clearing) and item.handle not in still:
                item.replaced = True
        known = self.model.handles
        for page in self.session.reader.pages():
            if page.handle in known:
                continue
            message = self.session.reader.message(page)
            if message.text.startswith("Forbidden: "):
                self.model.add(page, message, "pin", pinned=True)
                self._by_logs.add(page.handle)
            else:
                self.model.add(page, message, "plan", plan=log.plan, is_clearing=log.plan is None)

    # -- other places, other writers

    def fork_earlier(self, salt: int, ref: int) -> None:
        """A fork of an earlier place: what was said and promised by then, and nothing that was erased since."""
        if len(self._sides) >= _MOST_SESSIONS or not self._earlier:
            return
        id, upto, then = self._earlier[ref % len(self._earlier)]
        if id != self.session.id:
            return
        model = then.copy()
        model.derived = None
        erased = {item.handle for item in self.model.items if item.erased}
        for item in model.items:
            if item.handle in erased:
                item.erased, item.pinned, item.form = True, False, None
        self._forks += 1
        child = Side(self.session.fork(f"f{self._forks}", upto=upto), model)
        child.asked = self._now.asked
        self._sides.append(child)
        self._now = child

    def reopen_as(self, salt: int, ref: int) -> None:
        """Close, and open with another policy or for another model."""
        rng = random.Random(salt)
        self.session.close()
        if self._folder is not None:
            self._reopen_store()
        options = {}
        if rng.random() < 0.5:
            options["policy"] = policy(rng, self.plot.budget)
        if rng.random() < 0.5:
            options["model"] = rng.choice(MODELS)
        self._now.session = self._open(self.session.id, **options)
        self.model.derived = None

    def another_writes(self, salt: int, ref: int, does: str) -> None:
        """Another object on the same store does more than to say something."""
        other = self._open(self.session.id)
        with suppress(pt.BudgetTooSmall, pt.InvalidInput):
            match does:
                case "undo" if self.model.turns:
                    other.undo(1)
                case "choose":
                    other.choose(policy(random.Random(ref), self.plot.budget))
                case "plan":
                    plan = pt.Plan(goal=texts.prose(salt, 1))
                    self.model.add(other.plan(plan), pt.system(plan.text), "plan", plan=plan)
                case "reset":
                    summary = texts.prose(salt, 3)
                    page = other.reset(summary, force=True)
                    self.model.resets.append(self.model.add(page, pt.user(summary, synthetic=True), "reset"))
                case "reply":
                    context = other.derive(self._now.asked.tools)
                    self.model.derived, self.model.derived_items = context, len(self.model.items)
                    before, reply = len(self.model.items), pt.assistant(texts.prose(salt, 1))
                    self.model.add(other.append(reply), reply)
                    self.model.answered(before)
        self.session.refresh()
        if does == "undo" and self.model.turns:
            self._undone(self.model.turns[-1:])
