"""Pydantic AI's agent: `of_pydantic_ai.py URL VENDOR`."""

import asyncio
import sys
from collections.abc import AsyncIterable

from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

url, vendor = sys.argv[1:]
if vendor == "anthropic":
    model = AnthropicModel("claude-opus-4-5", provider=AnthropicProvider(base_url=url, api_key="canary"))
else:
    kind = OpenAIResponsesModel if vendor == "responses" else OpenAIChatModel
    model = kind("gpt-5.1", provider=OpenAIProvider(base_url=f"{url}/v1", api_key="canary"))
agent = Agent(model, instructions="Be brief.")


@agent.tool_plain
def read_file(path: str) -> str:
    """Read a file."""
    return {"a.py": "print(1)", "b.py": "print(2)"}[path]


async def stream(_context: object, events: AsyncIterable[object]) -> None:
    """Take the events as they come, so that the answers are streamed."""
    async for _ in events:
        pass


async def main() -> None:
    result = await agent.run("What do a.py and b.py do?", event_stream_handler=stream)
    sys.stdout.write(result.output)


asyncio.run(main())
