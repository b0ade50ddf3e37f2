"""The three formats that the scripted upstream speaks: how it reads a request, and how it writes an answer.

Each wire has `view` (what the model reads), `units` (what the cache goes by), `made` (the marks of the upstream's own that came back),
`answer` and `events` (what the model said, whole and as a stream) and `refusal`.
"""

from types import ModuleType

from tests.clients.wires import anthropic, chat, responses

WIRES: dict[str, ModuleType] = {
    "/v1/messages": anthropic,
    "/v1/chat/completions": chat,
    "/v1/responses": responses,
}
