"""LangChain's agent: `of_langchain.py URL VENDOR`."""

import sys

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return {"a.py": "print(1)", "b.py": "print(2)"}[path]


url, vendor = sys.argv[1:]
if vendor == "anthropic":
    model = ChatAnthropic(model="claude-opus-4-5", base_url=url, api_key="canary", max_tokens=4000, streaming=True)
else:
    model = ChatOpenAI(
        model="gpt-5.1",
        base_url=f"{url}/v1",
        api_key="canary",
        streaming=True,
        use_responses_api=vendor == "responses",
    )
agent = create_agent(model, tools=[read_file], system_prompt="Be brief.")
ended = agent.invoke({"messages": [{"role": "user", "content": "What do a.py and b.py do?"}]})
content = ended["messages"][-1].content
sys.stdout.write(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
