"""Each vendor's official client with our formats, as a user writes it: checked by mypy --strict in `make check`, not run."""

import anthropic as anthropic_sdk
import openai
from google import genai

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.values.prompt import Prompt


def chat(client: openai.OpenAI, context: pt.Context, body: dict[str, object]) -> pt.Message:
    stream = openai_chat.Stream()
    for chunk in client.chat.completions.create(model="m", stream=True, **openai_chat.dump(context)):
        stream.feed(chunk)
    prompt: Prompt = openai_chat.load_request(body)
    client.chat.completions.create(**openai_chat.dump(prompt))
    messages: list[pt.Message] = openai_chat.load_messages([{"role": "user", "content": "hi"}])
    openai_chat.dump(messages)
    return openai_chat.load_reply(client.chat.completions.create(model="m", **openai_chat.dump(context)))


def responses(client: openai.OpenAI, context: pt.Context) -> pt.Message:
    stream = openai_responses.Stream()
    for event in client.responses.create(model="m", stream=True, **openai_responses.dump(context)):
        stream.feed(event)
    response = client.responses.create(model="m", **openai_responses.dump(context))
    openai_responses.load_messages(response.output)
    return openai_responses.load_reply(response)


def messages(client: anthropic_sdk.Anthropic, context: pt.Context) -> pt.Message:
    stream = anthropic.Stream()
    for event in client.messages.create(model="m", max_tokens=9, stream=True, **anthropic.dump(context)):
        stream.feed(event)
    return anthropic.load_reply(client.messages.create(model="m", max_tokens=9, **anthropic.dump(context)))


def contents(client: genai.Client, context: pt.Context) -> pt.Message:
    stream = gemini.Stream()
    for chunk in client.models.generate_content_stream(model="m", **gemini.dump(context)):
        stream.feed(chunk)
    return gemini.load_reply(client.models.generate_content(model="m", **gemini.dump(context)))
