"""What the documentation site has besides the pages in docs/: the README as its front, the other pages of the root, the examples, and a list
of the decisions.

A hook of MkDocs, which `make docs` runs. Only the two functions at the end need MkDocs.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FROM_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)(?P<path>[^)#\s]+)")
_FENCE = re.compile(r"^```python \w+$", re.MULTILINE)


def extra_pages() -> dict[str, str]:
    """The text of each page that is not in docs/, by its path in the site."""
    made = {name: _as_in_docs((ROOT / source).read_text("utf-8")) for source, name in FROM_ROOT.items()}
    for example in sorted((ROOT / "examples").glob("*.py")):
        made[f"examples/{example.name}"] = example.read_text("utf-8")
    return made | {"decisions/records.md": _records()}


def for_site(markdown: str) -> str:
    """A page of docs/ for the site, which has the pages of the root and the examples beside it, and whose fences have a language only."""
    for source, name in FROM_ROOT.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}")
    return _FENCE.sub("```python", markdown.replace("](../examples/", "](examples/"))


def _as_in_docs(markdown: str) -> str:
    """A page of the root with its links as they are from within docs/."""

    def moved(link: re.Match[str]) -> str:
        path = link["path"].removeprefix("docs/")
        return FROM_ROOT.get(path, "decisions/README.md" if path == "decisions/" else path)

    return _LINK.sub(moved, markdown)


def _records() -> str:
    lines = ["# All decisions", "", "This page lists the records of decisions, the newest first.", ""]
    for record in sorted((ROOT / "docs" / "decisions").glob("0*.md"), reverse=True):
        title = record.read_text("utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({record.name})")
    return "\n".join(lines) + "\n"


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages to those that MkDocs found."""
    from mkdocs.structure.files import File  # noqa: PLC0415 (an environment of its own has it)

    for name, text in extra_pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Each page as it is for the site."""
    return for_site(markdown)
