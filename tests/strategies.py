"""Hypothesis strategies for the values: any text that JSON can hold, any message, any note."""

import msgspec
from hypothesis import strategies as st

import pageturn as pt
from pageturn.lab import OracleReplay
from pageturn.values.messages import File, Native, Text, Thinking, ToolResult

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
name = st.text("abcdefghij_", min_size=1, max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
extras = st.none() | st.dictionaries(text.map(lambda key: f"x_{key}"), json_values, min_size=1, max_size=2)
whole = st.integers(0, 2**40)

texts = st.builds(Text, text=text, extra=extras)
images = st.builds(pt.Image, url=text, mime_type=st.none() | text, extra=extras)
files = st.builds(File, path=text, mime_type=st.none() | text, extra=extras)
tool_calls = st.builds(
    pt.ToolCall, id=text, name=name, arguments=text, thought_signature=st.none() | text, extra=extras
)
tool_results = st.builds(
    ToolResult,
    tool_call_id=text,
    content=text | st.lists(texts | images | files, max_size=2).map(tuple),
    is_error=st.booleans(),
    extra=extras,
)
thinking = st.builds(Thinking, text=text, signature=st.none() | text, redacted=st.none() | text, extra=extras)
natives = st.builds(Native, vendor=name, item=st.dictionaries(text, json_values, max_size=2), text=text, extra=extras)
parts = texts | images | files | tool_calls | tool_results | thinking | natives
usages = st.builds(pt.Usage, input_tokens=whole, output_tokens=whole, cache_read_tokens=whole, model=st.none() | text)
messages = st.builds(
    pt.Message,
    id=st.none() | text.filter(str.strip),
    role=st.sampled_from(pt.Role),
    content=st.lists(parts, max_size=4).map(tuple),
    visibility=st.sampled_from(pt.Visibility),
    synthetic=st.booleans(),
    joined=st.booleans(),
    usage=st.none() | usages,
    metadata=st.none() | st.dictionaries(text, json_values, max_size=2),
    extra=extras,
)
SPEAKERS = {pt.ToolCall: ("assistant",), Thinking: ("assistant",), ToolResult: ("tool", "user")}


def _fitting(message):
    """A message without the parts that only another role can say."""
    parts = tuple(part for part in message.content if message.role in SPEAKERS.get(type(part), (message.role,)))
    return msgspec.structs.replace(message, content=parts)


spoken = messages.map(_fitting)  # what a session takes
notes = st.builds(
    pt.ContextMessage,
    key=st.sampled_from("abc"),
    role=st.sampled_from(pt.Role),
    content=text,
    visibility=st.sampled_from(pt.Visibility),
    cooldown_turns=st.integers(0, 4),
    target=st.sampled_from(pt.ContextMessageTarget),
    consume_after_emit=st.booleans(),
    extra=extras,
)
buckets = st.builds(
    pt.Bucket,
    difficulty=st.sampled_from(pt.Difficulty),
    dependency=st.sampled_from(pt.Dependency),
    tool_use=st.sampled_from(pt.ToolUse),
)
faults = (
    st.sampled_from([kind() for kind in pt.Fault.__subclasses__() if not kind.__struct_fields__])
    | st.builds(pt.NoMatch, st.just("") | text)
    | st.builds(pt.Denied, text)
    | st.builds(pt.BackendError, text)
)
policies = (
    st.just(pt.Legacy())
    | st.builds(pt.Reset, whole)
    | st.builds(pt.Incremental, whole)
    | st.builds(OracleReplay, whole)
    | st.builds(pt.Paged, whole)
)
