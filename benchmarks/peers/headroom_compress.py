"""Runs in an environment of its own: each line of standard input is a tool result, and goes back as headroom compresses it."""

import json
import sys

from headroom import CompressConfig, compress


def compressed(tool: str, text: str) -> str:
    call = {"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]
    result = compress(messages, config=CompressConfig(protect_recent=0, protect_analysis_context=False))
    return str(result.messages[2]["content"])


for line in sys.stdin:
    page = json.loads(line)
    print(json.dumps(compressed(page["tool"], page["text"])), flush=True)
