"""Writes docs/cli.md from the commands and from the types of what they print, or says that it is stale.

python -m tools.cli_reference            # write it
python -m tools.cli_reference --check    # exit with 1 if the file is not what would be written
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec.inspect as types

from pageturn.apps.cli import answers
from pageturn.apps.cli.documented import EXIT_CODES, Documented
from pageturn.apps.cli.main import cli
from pageturn.apps.cli.sections import SECTIONS
from pageturn.lab.results import Score
from pageturn.values.json import Closed

FILE = Path(__file__).parent.parent / "docs" / "cli.md"
_NAMES = {
    types.StrType: "text",
    types.IntType: "whole number",
    types.FloatType: "number",
    types.BoolType: "true or false",
    types.DateTimeType: "time",
    types.NoneType: "null",
    types.AnyType: "any",
}
_EVERYWHERE = {"--help", "--json", "--quiet"}
_HEAD = """\
# The command line

`pip install 'pageturn[cli]'` installs the command `pageturn`; `uvx --from 'pageturn[cli]' pageturn demo` and `pipx run --spec 'pageturn[cli]' pageturn demo`
run it without. This page is made from its code: `python -m tools.cli_reference` writes it.

- `STORE` is the path of a store, and comes first. Where it is in brackets, it is by default the store of the gateway. `restore` and `unpack` take
  first what they read, then what they write, as `cp` does.
- Any id may be cut to a beginning that is unique: of a session, a key, a decision, a proposal's session (`login:3`), or a page (`p12`). If several ids
  begin so, the error lists them. In a pipe, and in JSON, ids are printed in full.
- `--json` prints the result as one line of JSON, with the fields [below](#what-json-prints). Errors go to the error stream, one line each.
- `--quiet` leaves out progress, hints and notices; commands that change something then print nothing but errors.
- With the environment variable `NO_COLOR`, nothing is coloured, bold or dim. Output to a file or a pipe never is.
- `pageturn completion bash` (or `zsh`, `fish`) prints the script for your shell; it completes commands, options, files and session ids.

"""


def page() -> str:
    """The page."""
    parts = [_HEAD, "## Exit codes\n\n", *(f"- `{code}`: {meaning}\n" for code, meaning in EXIT_CODES.items()), "\n"]
    for section in SECTIONS:
        parts.append(f"## {section.title}\n\n")
        for name, _ in section.commands:
            for path, command in commands(cli.commands[name], ("pageturn", name)):
                parts.append(_command(path, command))
    parts.append("## What --json prints\n\n" + inspect.cleandoc(answers.__doc__ or "").partition("\n\n")[2] + "\n\n")
    parts += [_fields(each) for each in (*_printed(), Score)]
    return "".join(parts).rstrip() + "\n"


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command, or the commands of a group, each with the words that call it."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from commands(each, (*path, name))
    else:
        yield path, command


def _command(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(path))
    usage = f"{' '.join(path)} {' '.join(command.collect_usage_pieces(context))}"
    lines = [f"### {' '.join(path)}", "", f"    {usage}", "", _paragraphs(command.help or ""), ""]
    options = (each for each in command.get_params(context) if isinstance(each, click.Option))
    records = (each.get_help_record(context) for each in options if not _EVERYWHERE & {*each.opts})
    lines += [f"- `{names}`: {told}" for names, told in filter(None, records)]
    assert isinstance(command, Documented), path
    own = {
        code: told for code, told in command.exit_codes.items() if EXIT_CODES.get(code) != told and told != "an error"
    }
    codes = "".join(f"; exit code {code}: {told}" for code, told in own.items())
    printed = " or ".join(_kind(types.type_info(each)) for each in command.printed)
    printed = f" With `--json` it prints {printed}." if printed else ""
    lines += ["", f"Example: `pageturn {command.example}`{codes}.{printed}", "", ""]
    return "\n".join(lines)


def _paragraphs(help_: str) -> str:
    """The text of a command; lines that click leaves as they are become a block."""
    parts = inspect.cleandoc(help_).split("\n\n")
    return "\n\n".join(
        "\n".join(f"    {line}" for line in part.splitlines()[1:]) if part.startswith("\b") else part for part in parts
    )


def _printed() -> list[type[Closed]]:
    return [
        each
        for _, each in inspect.getmembers(answers, inspect.isclass)
        if issubclass(each, Closed) and each.__module__ == answers.__name__
    ]


def _fields(type_: type[Closed]) -> str:
    info = types.type_info(type_)
    assert isinstance(info, types.StructType)
    told = dict(re.findall(r"^    (\w+): .*?  # (.+)$", inspect.getsource(type_), re.MULTILINE))
    lines = [f"### {type_.__name__}", "", inspect.cleandoc(type_.__doc__ or ""), ""]
    for field in info.fields:
        more = f"; {told[field.name]}" if field.name in told else ""
        lines += [f"- `{field.encode_name}`: {_kind(field.type)}{more}"]
    return "\n".join([*lines, "", ""])


def _kind(info: Any) -> str:
    match info:
        case types.UnionType(types=members):
            return " or ".join(map(_kind, members))
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return f"list of {_kind(item)}"
        case types.DictType(value_type=item):
            return f"object of {_kind(item)} by name"
        case types.StructType(cls=type_):
            return f"[{type_.__name__}](#{type_.__name__.lower()})"
    return _NAMES[type(info)]


def main() -> None:
    if "--check" in sys.argv[1:]:
        if FILE.read_text(encoding="utf-8") != page():
            raise SystemExit("docs/cli.md is stale: run python -m tools.cli_reference")
        return
    FILE.write_text(page(), encoding="utf-8")
    print(f"{FILE.name}: {len(page().splitlines())} lines")


if __name__ == "__main__":
    main()
