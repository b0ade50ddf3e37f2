"""In place of Claude Code: asks Anthropic's API with all of its history, and reads the file that the model names until it is done."""

import uuid

from anthropic import Anthropic

READ = {"name": "read_file", "description": "Read.", "input_schema": {"type": "object", "properties": {}}}
LINES = 60

client = Anthropic()
session = {"x-claude-code-session-id": str(uuid.uuid4())}
history = [{"role": "user", "content": "Login returns 500 since yesterday."}]
while history[-1]["role"] == "user":
    with client.messages.stream(
        model="claude-opus-5",
        max_tokens=8_000,
        system="You are Claude Code.",
        tools=[READ],
        messages=history,
        extra_headers=session,
    ) as stream:
        reply = stream.get_final_message()
    history.append({"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in reply.content]})
    results = [
        {
            "type": "tool_result",
            "tool_use_id": part.id,
            "content": "\n".join(
                f"{part.input['path']}:{line}: value_{line} = compute_{line}()" for line in range(LINES)
            ),
        }
        for part in reply.content
        if part.type == "tool_use"
    ]
    if results:
        history.append({"role": "user", "content": results})
print(reply.content[0].text)
