"""Finds the files that a call changes, from its arguments or a patch in them, for the formats of many tools."""

import re
from collections.abc import Mapping

from pageturn.context.renditions.content import file_of
from pageturn.values.messages import ToolCall

REPLACED = ("old_string", "old_str", "oldText", "oldString")  # what tools call the text that an edit replaces
_CHANGING = frozenset((*REPLACED, "new_string", "content", "edits", "file_text"))
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)


def files_edited(call: ToolCall) -> tuple[str, ...]:
    """The files that a call changes, each once, as the call names them; none if it changes no file, or does not say which."""
    arguments = call.parsed
    is_change = isinstance(arguments, Mapping) and not _CHANGING.isdisjoint(arguments)
    named = [path] if is_change and (path := file_of(call)) is not None else []
    patched = _PATCHED.findall(call.texts) if "*** " in call.arguments else []
    return tuple(dict.fromkeys([*named, *patched]))
