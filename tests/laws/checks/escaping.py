"""Text is never control: what the library writes escapes look-alikes, what stands whole is not altered, and no model speaks as the system."""

import re
from collections.abc import Iterable, Iterator

import pageturn as pt
from tests.laws.case import Case
from tests.laws.model import HANDLE, MARK, our_words

_TAG = re.compile(r"</?(?:pages?|system-reminder)\b", re.IGNORECASE)
_INSTRUCTING = (pt.Role.SYSTEM, pt.Role.DEVELOPER)
_LEFT_OUT = "[... "  # how a renderer marks what it leaves out


def problems(case: Case) -> Iterator[str]:
    handles = case.model.handles
    people = [text for item in case.model.live for text in item.human_texts if _TAG.search(text)]
    for each in case.ours:
        text = our_words(each.message)
        for verbatim in people if not each.message.synthetic else ():  # beside which a harness's part was shortened
            text = text.replace(verbatim, "")
        inner = text.removeprefix("<page>\n").removesuffix("\n</page>") if text.startswith("<page>\n") else text
        found = _TAG.search(inner)
        if found is not None:
            yield f"message {each.at} of ours has a bare {found[0]!r}"
        for look_alike in HANDLE.finditer(text):
            if look_alike[0] not in handles:
                yield f"message {each.at} of ours has a bare {look_alike[0]}"
    yield from _roles(case)


def _roles(case: Case) -> Iterator[str]:
    """Only what the host, its rules, plans and notes said stands as an instruction."""
    by_host = set(case.model.noted)
    for item in case.model.items:
        if item.is_models:
            continue
        by_host.add(item.message.text)
        if item.form is not None:
            by_host.add(item.form)
        if item.plan is not None:
            by_host |= {item.plan.text, item.plan.structured}
        by_host |= case.model.forms.get(item.handle, set())
    hosts = {
        mark for item in case.model.items if item.message.role in _INSTRUCTING and not item.is_models
        for mark in case.model.marks_of(item)
    }  # fmt: skip
    for at, message in enumerate(case.context.messages):
        marks = set(MARK.findall(message.text))
        is_shortened = (bool(marks) and marks <= hosts) or _begins_as_one(message.text, by_host)
        if message.role in _INSTRUCTING and message.text not in by_host and not is_shortened:
            yield f"message {at} speaks as {message.role}, and no host said it: {message.text[:60]!r}"
        if message.role in _INSTRUCTING and any(
            mark in message.text for mark in case.model.written - case.model.approved
        ):
            yield f"message {at} speaks as {message.role} with a model's words"


def _begins_as_one(text: str, whole: Iterable[str]) -> bool:
    """Whether a renderer shortened one of these: what stands before the gap is how it begins."""
    head, gap, _ = text.partition(_LEFT_OUT)
    return bool(gap and head.strip()) and any(each.startswith(head.rstrip()) for each in whole)
