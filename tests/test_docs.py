"""The documentation is true: its examples run, its words exist, its links lead somewhere."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import pageturn as pt

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(("page", "number", "code"), EXAMPLES, ids=[f"{page.name}-{n}" for page, n, _ in EXAMPLES])
def test_an_example_runs(page, number, code):
    exec(compile(code, f"{page.name} example {number}", "exec"), {})


def test_the_readme_has_an_example():
    assert any(page.name == "README.md" for page, _, _ in EXAMPLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_about_one_screen_and_names_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 90
    assert {"make demo", "make test"} <= {line.split("#")[0].strip() for line in text.splitlines()}


def test_the_tree_of_the_readme_names_every_module():
    tree = (ROOT / "README.md").read_text().split("src/pageturn/\n")[1].split("```")[0]
    package = ROOT / "src" / "pageturn"
    modules = {f"{path.name}/" if path.is_dir() else path.name for path in package.iterdir()}
    assert {name for name in modules if name[0] not in "_." and name != "py.typed"} <= set(re.findall(r"[\w/.]+", tree))


def test_the_glossary_names_every_concept():
    words = (ROOT / "docs" / "glossary.md").read_text()
    concepts = {name for name in pt.__all__ if name[0].isupper() and not is_member_of_a_family(name)}
    missing = {name for name in concepts if f"`{name}`" not in words}
    assert missing == set()


def is_member_of_a_family(name):
    """Members of a family are explained by the family."""
    value = getattr(pt, name)
    if name in {"Part", "Difficulty", "Dependency", "ToolUse", "DelegationConfig"}:
        return True
    if issubclass(value, pt.PageturnError):
        return True
    return value in pt.Part.__args__ or any(family in value.__mro__[1:] for family in (pt.Fault, pt.DerivePolicy))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_the_documentation_gives_exist(page):
    for name in re.findall(r"`(pageturn(?:\.\w+)+)`", page.read_text()):
        resolve_name(name)
