"""Continuations: what people type to keep an agent going. Such a message is never the task; the one before it is."""

import re

from pageturn.messages import Message, Text

_LONGEST = 80  # bytes
_WORDS = re.compile(r"[^\W_]+(?:'[a-z]+)?")

# All words of a continuation are among these; a message of other words says something.
_FILLERS = frozenset(
    """
    a again ahead all alright and begin carry cheers continue cool correct do does done excellent exactly fine finish forward go
    goes going good great hello hey hi it keep let's lgtm looks me moving n nah next nice no nope now of ok okay on one perfect
    please proceed resume retry right same sounds start status step sure task thank thanks that that's the then there this to
    try ty up update well with work works y yea yeah yep yes you your
    adelante bien bitte bueno claro continua continúa continuer continuez d'accord danke gracias ja jo merci mach nein non oui
    prosigue si sigue sim sí suite super vale vas-y weiter
    да дальше хорошо продолжай продолжи спасибо
    继续 好 好的 是 是的 可以 行 嗯 谢谢 続けて はい お願いします 続き 계속 네 응 좋아 감사합니다
    """.split()
)


def is_continuation(message: Message) -> bool:
    """Whether a person's message only says to go on."""
    if any(not isinstance(part, Text) for part in message.content):
        return False  # a picture or a file is something to work on
    text = message.text.strip().lower()
    if len(text.encode("utf-8", "replace")) > _LONGEST:
        return False
    words = _WORDS.findall(text)
    return all(word in _FILLERS or len(word) == 1 for word in words)
