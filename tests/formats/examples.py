"""Requests as the vendors document them: every kind of block, in the form that `dump` gives back for the vendor's own models."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"

OPENAI_CHAT = {
    "messages": [
        {
            "role": "developer",
            "content": [
                {"type": "text", "text": "You are a coding agent."},
                {"type": "text", "text": "Answer briefly."},
            ],
            "name": "host",
        },
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "What is this?", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "file", "file": {"file_id": "file-123"}},
                {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}},
                {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
                {
                    "id": "call_3",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "b.py"}'},
                    "index": 2,
                },
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "x = 1"},
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": [{"type": "text", "text": "ok"}, {"type": "text", "text": "1 file"}],
        },
        {"role": "tool", "tool_call_id": "call_3", "content": "y = 2"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "user", "content": "Say it aloud."},
        {
            "role": "assistant",
            "content": "Heard.",
            "audio": {"id": "audio_1"},
            "annotations": [{"type": "url_citation"}],
        },
        {"role": "developer", "content": "It is noon."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "done"},
    ]
}

OPENAI_RESPONSES = {
    "instructions": "You are a coding agent.",
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Answer briefly."}]},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "low"},
                {"type": "input_image", "file_id": "file-9", "detail": "auto"},
                {"type": "input_file", "file_url": "https://example.org/a.pdf"},
                {"type": "input_file", "file_id": "file-123"},
                {"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Two files."}],
            "encrypted_content": "gAAAA",
        },
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "phase": "commentary",
            "content": [
                {"type": "output_text", "text": "I look.", "annotations": []},
                {
                    "type": "output_text",
                    "text": "Closely.",
                    "annotations": [
                        {"type": "url_citation", "url": "https://e.org", "title": "E", "start_index": 0, "end_index": 3}
                    ],
                },
            ],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "a.py"}'},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "pep 8"},
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "x = 1"},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_2",
            "output": [
                {"type": "input_text", "text": "ok"},
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
            ],
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAB"},
        {"type": "local_shell_call_output", "id": "ls_1", "output": "{}"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAAC"},
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_2",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "No."}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
        {"type": "message", "role": "assistant", "content": "Gone on."},
    ],
}

CITATION = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": "A",
    "start_char_index": 0,
    "end_char_index": 1,
}
ANTHROPIC = {
    "system": [
        {"type": "text", "text": "You are a coding agent."},
        {"type": "text", "text": "Rules.", "cache_control": {"type": "ephemeral"}},
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    "title": "A",
                    "citations": {"enabled": True},
                },
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
                {
                    "type": "search_result",
                    "source": "https://e.org",
                    "title": "E",
                    "content": [{"type": "text", "text": "t"}],
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two files.", "signature": "sig=="},
                {"type": "redacted_thinking", "data": "opaque"},
                {"type": "text", "text": "I look.", "citations": [CITATION]},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pep 8"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {}, "caller": {"type": "direct"}},
                {"type": "tool_use", "id": "toolu_3", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x = 1"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [
                        {"type": "text", "text": "y = 2"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                        {"type": "tool_reference", "tool_name": "other"},
                    ],
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "tool_result", "tool_use_id": "toolu_3", "content": "no such file", "is_error": True},
                {"type": "text", "text": "Now fix it."},
                {"type": "text", "text": "And quickly."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "I hurry."}]},
        {"role": "user", "content": [{"type": "text", "text": "Now."}]},
        {"role": "system", "content": [{"type": "text", "text": "The clock says noon."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Noon."}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ],
}

GEMINI = {
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "What is this?"},
                {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}},
                {"file_data": {"mime_type": "application/pdf", "file_uri": "https://files.example.org/f1"}},
                {
                    "file_data": {"mime_type": "image/png", "file_uri": "gs://bucket/a.png"},
                    "media_resolution": {"level": "MEDIA_RESOLUTION_LOW"},
                },
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Two files.", "thought": True},
                {"text": "I look.", "thought_signature": b"sig-1"},
                {"executable_code": {"language": "PYTHON", "code": "print(1)"}},
                {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
                {
                    "function_call": {"name": "read", "args": {"filePath": "a.py"}},
                    "thought_signature": b"\x00\xff\xfe",
                },
                {"function_call": {"name": "read", "args": {}}},
                {"function_call": {"id": "c3", "name": "stat", "args": {"deepKey": {"innerKey": 1}}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"function_response": {"name": "read", "response": {"output": "x = 1"}}},
                {"function_response": {"name": "read", "response": {"error": "no such file"}}},
                {
                    "function_response": {
                        "id": "c3",
                        "name": "stat",
                        "response": {"size": 3, "isFile": True},
                        "parts": [{"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}}],
                    }
                },
                {"text": "Now fix it."},
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ],
    "config": {"system_instruction": {"parts": [{"text": "You are a coding agent."}]}},
}

SCHEMA = {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]}
BESIDE = {  # what a request has beside its messages
    "openai_chat": {
        "tools": [
            {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}},
            {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
        ],
        "max_completion_tokens": 900,
        "temperature": 0.5,
        "stop": ["END"],
        "tool_choice": {"type": "function", "function": {"name": "read"}},
        "parallel_tool_calls": False,
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "low",
        "prompt_cache_options": {"mode": "explicit"},
        "metadata": {"userId": "u1"},
    },
    "openai_responses": {
        "tools": [
            {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA, "strict": True},
            {"type": "custom", "name": "patch"},
            {"type": "web_search"},
        ],
        "max_output_tokens": 900,
        "top_p": 0.9,
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "stream": False,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    },
    "anthropic": {
        "tools": [
            {"name": "read", "description": "Read a file.", "input_schema": SCHEMA},
            {"type": "web_search_20250305", "name": "web_search", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ],
        "max_tokens": 900,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 500},
        "metadata": {"user_id": "u1"},
    },
    "gemini": {
        "tools": [
            {"function_declarations": [{"name": "read", "description": "Read a file.", "parameters": SCHEMA}]},
            {"google_search": {}},
        ],
        "max_output_tokens": 900,
        "temperature": 0.5,
        "stop_sequences": ["END"],
        "tool_config": {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["read"]}},
        "response_schema": {"type": "OBJECT", "properties": {"camelCase": {"type": "STRING"}}},
        "safety_settings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
    },
}
_REQUESTS = {
    "openai_chat": OPENAI_CHAT,
    "openai_responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}


def whole(vendor, model):
    """A whole request: messages, tools, model and settings."""
    request, beside = _REQUESTS[vendor], BESIDE[vendor]
    if vendor == "gemini":
        return {**request, "model": model, "config": request["config"] | beside}
    return {**request, "model": model, **beside}
