"""What is sent passes the strictest reader of each vendor's format, and reasoning stands only behind what it was made on."""

from collections.abc import Iterator

from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.messages import Thinking
from tests.laws.case import Case
from tests.strict import anthropic as strict_anthropic
from tests.strict import gemini as strict_gemini
from tests.strict import openai_chat as strict_chat
from tests.strict import openai_responses as strict_responses

DUMPS_ARE_STRICT = True
_FORMATS = (
    ("anthropic", anthropic.dump, strict_anthropic.problems, "claude"),
    ("gemini", gemini.dump, strict_gemini.problems, "gemini"),
    ("openai_chat", openai_chat.dump, strict_chat.problems, "gpt"),
    ("openai_responses", openai_responses.dump, strict_responses.problems, "gpt"),
)


def problems(case: Case) -> Iterator[str]:
    context = case.context
    if not context.messages:
        return
    has_reasoning = any(isinstance(part, Thinking) for message in context.messages for part in message.content)
    for name, dump, read, family in _FORMATS:
        is_own = family in context.model
        history = [dump(each) for each in case.model.sent] if has_reasoning and is_own else []
        told = read(dump(context), model=context.model if is_own else None, previous=history)
        host_tools = () if name == "openai_chat" else tuple(f"$.tools[{at}]" for at in range(len(case.asked.tools)))
        for problem in told:
            if problem.path.startswith(host_tools or ("-",)):
                continue  # a host gives its tools in the form of its vendor, and these are in one
            is_of_model = problem.code.startswith(("reasoning", "thinking", "signature"))
            if is_own if is_of_model else DUMPS_ARE_STRICT:
                yield f"{name}: {problem}{_reason(case) if is_of_model else ''}"


def _reason(case: Case) -> str:
    """What may have changed what reasoning was made on."""
    items = case.model.items
    told = [
        ("erased", any(item.erased for item in items)),
        ("replaced", any(item.origin == "system" for item in items)),
    ]
    return "".join(f", and something was {what}" for what, is_so in told if is_so)
