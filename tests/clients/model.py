"""The scripted model: what it says is a function of what it reads in the request, and of nothing else.

It walks as `walk` tells. A code that it cannot see it recalls, where it has a tool for that; else, and where recalling did not help, it
searches the files again, as a model would. Whoever asks for a summary gets one that has the way and no code.
"""

import re
from typing import Any

from tests.clients.views import Call, Said, Tool, View
from tests.clients.walk import ANSWER, code_of, furthest, wanted

_SHELLS = ("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "exec")
_AGENTS = ("Agent", "Task", "task", "agent", "spawn_agent", "delegate")
_RECALLS = re.compile(r"(?:.*_)?recall(?:_.*)?")
_FOUND = re.compile(r"<page>\n(p\d+-\w+) tool[^\n]*\n(.*?)</page>", re.DOTALL)
_BEGIN = re.compile(r"Begin with pages/(\S+?)\.txt")
_FILE = re.compile(r"pages/(\S+?|\(the code of \S+ \))\.txt")
_SUMMARY = re.compile(
    r"TEXT ONLY|CONTEXT CHECKPOINT|compaction_trigger|create a (?:detailed )?summary|<state_snapshot>|summariz|anchored summary",
    re.IGNORECASE,
)
SUBTASK = "Read the page in pages/{}.txt with a command like `cat`, and answer with all of its last three lines."
_SUBTASK = re.compile(r"Read the page in pages/(\S+?)\.txt with a command like")


def decide(view: View) -> Said:
    """The next thing that the model says."""
    if is_summary_wanted(view):
        return _summary(view)
    shell = next((view.tools[name] for name in _SHELLS if name in view.tools), None)
    if shell is None:
        return Said("A walk through pages")  # a title, a probe: whatever a client asks for beside its conversation
    if (delegated := _delegated(view)) is not None:
        return _do_subtask(view, delegated, shell)
    place = furthest(view.texts)
    if place is None:
        begin = next((found for text in view.texts if (found := _BEGIN.search(text))), None)
        return _read([begin[1]], shell, "I begin.") if begin else Said("There is nothing to do.")
    said = _go_on(view, place, shell)
    return said._replace(text=f"{said.text}\n{_notes(place, view)}") if said.calls else said


def _notes(place: tuple[int, int, str, str], view: View) -> str:
    """Where it is and what it found, which a careful model writes down: what it read may be out of sight later."""
    number, count, name, said = place
    codes = {each: code_of(each, view.texts) for each in wanted(said)}
    known = "".join(f"code({each}) = {code}\n" for each, code in codes.items() if code is not None)
    return f"PAGE {number} OF {count}: {name}\n{known}NEXT: {said}"


def _go_on(view: View, place: tuple[int, int, str, str], shell: Tool) -> Said:
    number, _, name, said = place
    if said.startswith("have a subagent"):
        return _delegate(view, said, shell, name)
    codes = {each: code_of(each, view.texts) for each in wanted(said)}
    if missing := [each for each, code in codes.items() if code is None]:
        return _look_for(missing[0], view, shell, name)
    if said.startswith("write the product"):
        return _finish(codes, view, shell)
    files = [codes[of[0]] if (of := wanted(f"{file} ")) else file for file in _FILE.findall(said)]
    return _read([str(file) for file in files], shell, f"Page {number} was {name}.")


def is_summary_wanted(view: View) -> bool:
    """Whether the client wants to go on with a summary instead of the history."""
    asked = view.asked[-6_000:]
    is_beside = not view.tools or furthest([asked]) is None  # some clients put the history into the same message
    return (bool(_SUMMARY.search(asked)) and is_beside) or not view.entries


def _summary(view: View) -> Said:
    place = furthest(view.texts)
    begin = next((found[0] for text in view.texts if (found := _BEGIN.search(text))), "")
    way = f"PAGE {place[0]} OF {place[1]}: {place[2]}\nNEXT: {place[3]}\n" if place else ""
    told = f"{begin}.txt. The last page that was read:\n{way}END OF SUMMARY"
    return Said(f"<summary>\n{told}\n</summary>" if "<summary>" in view.asked else told)


def _read(files: list[str], shell: Tool, text: str) -> Said:
    return Said(text, tuple(_command(shell, f"cat pages/{file}.txt") for file in files), f"{text} Next: {files}.")


def _look_for(name: str, view: View, shell: Tool, at: str) -> Said:
    tried = [entry.text for entry in view.entries if entry.kind == "call" and name in entry.text]
    recall = next((tool for each, tool in view.tools.items() if _RECALLS.fullmatch(each)), None)
    if recall is not None and not any("query" in each for each in tried):
        call = Call(recall, {"query": f"code({name})"})
        return Said(f"At {at}, I need the code of {name}.", (call,), f"The code of {name} is not here any more.")
    if recall is not None and (handle := _handle(name, view)) is not None:
        call = Call(recall, {"handle": handle})
        return Said(f"At {at}, I read the page of {name} again.", (call,), f"It is {handle}.")
    if sum("grep" in each for each in tried) > 2:
        return Said(f"I cannot find the code of {name}.")
    command = _command(shell, f"grep -rhF 'code({name}) =' pages")
    return Said(f"At {at}, I look for the code of {name}.", (command,), "It must be in one of the files.")


def _handle(name: str, view: View) -> str | None:
    """The handle of a page that a search has found, by its first line or its last, unless it was given back already."""
    told = re.compile(rf"PAGE \d+ OF \d+: {re.escape(name)}\s|END OF {re.escape(name)}\s")
    answers = [entry.text for entry in view.entries if entry.kind == "result" and "<page>" in entry.text]
    found = [match for text in answers for match in _FOUND.finditer(text) if told.search(match[2])]
    asked = [entry.text for entry in view.entries if entry.kind == "call"]
    return next((match[1] for match in found if not any(match[1] in text for text in asked)), None)


def _finish(codes: dict[str, str | None], view: View, shell: Tool) -> Said:
    product = 1
    for code in codes.values():
        product *= int(str(code), 16)
    if any(entry.kind == "call" and ANSWER in entry.text and str(product) in entry.text for entry in view.entries):
        return Said(f"The product is {product}.")
    return Said("That was the last page.", (_command(shell, f"echo {product} > {ANSWER}"),), "Now the product.")


def _delegate(view: View, said: str, shell: Tool, name: str) -> Said:
    file = _FILE.findall(said)[0]
    agent = next((view.tools[each] for each in _AGENTS if each in view.tools), None)
    has_asked = any(entry.kind == "call" and SUBTASK.format(file) in entry.text for entry in view.entries)
    if agent is None or has_asked:  # or it did not answer with the page
        return _read([file], shell, f"I do it myself after {name}.")
    return Said("A subagent will read it.", (Call(agent, _filled(agent, "", SUBTASK.format(file))),), "I delegate.")


def _delegated(view: View) -> str | None:
    """The page that we are asked to read as a subagent: nothing of the walk comes behind that."""
    for entry in reversed(view.entries):
        is_said = entry.kind == "user" and "<page>" not in entry.text  # a page that stands for an earlier call is not
        if is_said and (found := _SUBTASK.search(entry.text)):
            return found[1]
        if entry.kind == "user" and _BEGIN.search(entry.text):
            return None
    return None


def _do_subtask(view: View, file: str, shell: Tool) -> Said:
    place = furthest(entry.text for entry in view.entries if entry.kind == "result" and f": {file}\n" in entry.text)
    if place is None:
        return _read([file], shell, "I am a subagent.")
    number, count, name, said = place
    return Said(f"PAGE {number} OF {count}: {name}\nNEXT: {said}\nEND OF {name}")


def _command(shell: Tool, command: str) -> Call:
    if shell.parameters is None:  # a program in JavaScript, which calls the shell
        inner = f"const r = await tools.exec_command({{cmd: {command!r}, max_output_tokens: 20000}}); text(r.output);"
        return Call(shell, inner)
    return Call(shell, _filled(shell, command, ""))


def _filled(tool: Tool, command: str, prompt: str) -> dict[str, Any]:
    """Arguments by the schema of a tool that takes a command or a task."""
    schema = tool.parameters or {}
    properties: dict[str, Any] = schema.get("properties", {})
    known = {
        "command": command,
        "cmd": command,
        "prompt": prompt,
        "message": prompt,
        "task": prompt,
        "task_name": "page",
        "description": "One page",
        "subagent_type": "general-purpose" if tool.name != "task" else "general",
        "is_background": False,
        "max_output_tokens": 20_000,
    }
    needed = [name for name in properties if name in schema.get("required", ()) or name == "max_output_tokens"]
    filled = {name: _value(properties[name], known.get(name)) for name in needed}
    if not prompt or any(SUBTASK[:10] in str(each) for each in filled.values()):
        return filled
    return filled | {name: prompt for name in ("prompt", "message") if name in properties}


def _value(schema: dict[str, Any], known: Any) -> Any:
    if schema.get("type") == "array" and isinstance(known, str):
        return ["bash", "-lc", known]
    if known is not None:
        return known
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(str(schema.get("type")), "page")
