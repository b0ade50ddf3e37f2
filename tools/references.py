"""Writes the references in docs/reference/ from the code: the API from signatures and docstrings, the gateway's settings from their table.

make references
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pageturn as pt
from pageturn.apps.gateway.config import SettingInfo, every_setting
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.formats.streams.stream import EventStream

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MADE = "<!-- made by `make references`; do not edit -->"
_LARGE = (pt.Session, pt.SessionReader, pt.Context, pt.Router)
_PRECEDENCE = (
    "A flag counts before a variable, a variable before the settings file, and the file before the vendors' own variables. The file is "
    "`$XDG_CONFIG_HOME/pageturn/config.toml`, or the one that `--config` names. Those that are used most have a flag of their name: `--room 48000`. An invalid or "
    "unknown setting is an error with its file and line. `pageturn serve --print-config` prints the file with the values in force."
)
_WIDTH = 120  # of a signature on one line
_FORMATS = (openai_chat, openai_responses, anthropic, gemini)
_OF_A_FORMAT = ("load_reply", "load_request", "load_messages", "dump")
_TABLES = {
    "gateway": "How the gateway runs, and what it keeps.",
    "telemetry": "What operators see: [the gateway for a team](../production.md#what-operators-see).",
    "limits": "What clients may take: [limits](../production.md#limits).",
    "upstream": "Where the providers are.",
}


def api() -> str:
    """The public names of the package, its largest classes with all members, and the formats."""
    parts = [
        "# API reference",
        MADE,
        "This page lists the public names with their signatures. `import pageturn as pt`; what is not in the package itself is imported from its room.",
    ]
    classes = [getattr(pt, name) for name in pt.__all__ if inspect.isclass(getattr(pt, name))]
    functions = [getattr(pt, name) for name in pt.__all__ if inspect.isfunction(getattr(pt, name))]
    for large in _LARGE:
        parts += [f"## {large.__name__}", _summary(large), *_members(large)]
    parts += ["## Functions", *map(_function, functions)]
    parts.append("## Policies")
    parts += [_class(each) for each in classes if issubclass(each, pt.DerivePolicy)]
    parts.append("## Faults")
    parts += ["What each means, and what to do: [faults](../faults.md)."]
    parts += [_class(each) for each in classes if issubclass(each, pt.Fault)]
    parts += ["## Errors", "What each means, and what to do: [errors](../errors.md)."]
    parts += [_class(each) for each in classes if issubclass(each, pt.PageturnError)]
    families = (pt.DerivePolicy, pt.Fault, pt.PageturnError, *_LARGE)
    parts += ["## Values", *(_class(each) for each in classes if not issubclass(each, families))]
    parts += ["## Formats", "Each of the four modules has the same names: [formats](../formats.md)."]
    for module in _FORMATS:
        parts.append(f"### {module.__name__}")
        parts += [_function(getattr(module, name)) for name in _OF_A_FORMAT]
        parts += [_class(module.Stream, level="####")]
    return "\n\n".join(parts) + "\n"


def configuration() -> str:
    """The settings of the gateway."""
    parts = [
        "# Configuration reference",
        MADE,
        "This page lists every setting of the gateway (`pageturn run`, `pageturn serve`) with its type, default and meaning.",
        _PRECEDENCE,
    ]
    settings = every_setting()
    for table in dict.fromkeys(each.table for each in settings):
        rows = [_row(each) for each in settings if each.table == table]
        head = "| setting | variable | value | default | meaning |\n|---|---|---|---|---|"
        parts += [f"## [{table}]", _TABLES[table], "\n".join([head, *rows])]
    parts += [
        "## [models.NAME] and [upstreams.NAME]",
        "A choice between models, and further upstreams: [the gateway for a team](../production.md#choosing-between-models).",
    ]
    return "\n\n".join(parts) + "\n"


def _row(setting: SettingInfo) -> str:
    variables = ", ".join(f"`{name}`" for name in setting.variables)
    default = {True: "`true`", False: "`false`"}.get(setting.default, f"`{setting.default}`")
    shown = "not set" if setting.default is None else default
    meaning = setting.meaning or f"the base URL of {setting.name}"
    return f"| `{setting.name}` | {variables} | {setting.accepts} | {shown} | {meaning} |"


def _members(of: type) -> Iterator[str]:
    for node in _body(of):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not _is_overload(node):
            yield f"### {of.__name__}.{node.name}\n\n```text\n{_shape(node)}\n```\n\n{_first(ast.get_docstring(node))}"


def _class(of: type, level: str = "###") -> str:
    told = [f"{level} {of.__name__}"]
    fields = [
        f"{node.target.id}: {ast.unparse(node.annotation)}{f' = {ast.unparse(node.value)}' if node.value else ''}"
        for node in _body(of)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_")
    ]
    methods = [
        _shape(node)
        for node in _body(of)
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not _is_overload(node)
    ]
    members = [ast.unparse(node.targets[0]) for node in _body(of) if isinstance(node, ast.Assign)]
    members = [name for name in members if name.isupper() and not name.startswith("_")]
    if lines := [*fields, *members, *methods]:
        told.append("```text\n" + "\n".join(lines) + "\n```")
    return "\n\n".join((told[0], _summary(of), *told[1:]))


def _function(of: Callable[..., Any]) -> str:
    node = ast.parse(dedent(inspect.getsource(of))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return f"```text\n{_shape(node)}\n```\n\n{_first(ast.get_docstring(node))}"


def _shape(node: ast.FunctionDef) -> str:
    """A signature as a caller sees it: without self; a property is a name with a type."""
    decorators = {ast.unparse(each) for each in node.decorator_list}
    returns = ast.unparse(node.returns).strip("'") if node.returns else "None"
    if decorators & {"property", "cached_property"}:
        return f"{node.name}: {returns}"
    arguments = [each for each in _arguments(node.args) if each not in ("self", "cls")]
    line = f"{node.name}({', '.join(arguments)}) -> {returns}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join((f"{node.name}(", *(f"    {each}," for each in arguments), f") -> {returns}"))


def _arguments(args: ast.arguments) -> Iterator[str]:
    named = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(named) - len(args.defaults)) + list(args.defaults)
    yield from map(_argument, named, defaults)
    if args.vararg:
        yield f"*{_argument(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    yield from map(_argument, args.kwonlyargs, args.kw_defaults)
    if args.kwarg:
        yield f"**{_argument(args.kwarg, None)}"


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    typed = f"{arg.arg}: {ast.unparse(arg.annotation)}" if arg.annotation else arg.arg
    return typed if default is None else f"{typed} = {ast.unparse(default)}"


def _is_overload(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(each) == "overload" for each in node.decorator_list)


def _body(of: type) -> list[ast.stmt]:
    """The members of a class; of one that adds nothing public, those that it has from its base."""
    node = ast.parse(dedent(inspect.getsource(of))).body[0]
    assert isinstance(node, ast.ClassDef)
    return _body(EventStream) if EventStream in of.__mro__[1:] else node.body


def _summary(of: type) -> str:
    return _first(inspect.cleandoc(of.__doc__ or ""))


def _first(docstring: str | None) -> str:
    """The first paragraph."""
    return " ".join((docstring or "").partition("\n\n")[0].split())


PAGES = {"api.md": api, "configuration.md": configuration}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
