"""The documentation is true: its examples run, its words exist, its links lead somewhere."""

import re
from itertools import pairwise
from pathlib import Path
from pkgutil import resolve_name

import pytest

import pageturn as pt
from pageturn.values import errors
from pageturn.values.faults import AnyFault
from pageturn.values.messages import Part
from tests.scripted_vendors import scripted_vendors
from tools import sizes
from tools.examples import blocks, hidden, pages, prompts
from tools.typed_examples import complaints

ROOT = Path(__file__).parent.parent
PAGES = sorted(pages())
EXAMPLES = [example for page in PAGES for example in blocks(page)]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
DOCSTRINGS = [example for source in SOURCES for example in prompts(source)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page.name}-{example.line}")
def test_an_example_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with scripted_vendors(monkeypatch):
        exec(compile(example.code, str(example.page), "exec"), {})


@pytest.mark.parametrize("example", DOCSTRINGS, ids=lambda example: example.name)
def test_an_example_of_a_docstring_runs(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(example.code, str(example.page), "exec"), {})


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.page.name in ("README.md", "quickstart.md")],
    ids=lambda example: f"{example.page.name}-{example.line}",
)
def test_a_loop_runs_the_tool_answers_recall_and_ends(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with scripted_vendors(monkeypatch) as server:
        exec(compile(example.code, str(example.page), "exec"), {})
    (stored,) = pt.sessions(tmp_path / "agent.db")
    with pt.SessionReader.open(tmp_path / "agent.db", stored.id) as reader:
        said = [message.text for message in reader.messages()]
        results = [result.content for message in reader.messages() for result in message.tool_results]
    assert said[-1] == "Done."
    assert results[0] == "ok\n"
    assert "Login returns 500" in str(results[1])
    assert len(server.requests) == 3


def test_the_sizes_of_the_code_are_as_they_are_today():
    """Within a tenth, so that not every change has to edit the page."""
    if not (ROOT / ".git").exists():
        pytest.skip("sizes are counted from the git repository")
    page = (ROOT / "docs" / "how-it-works.md").read_text().splitlines()
    for row in sizes.own_rows():
        name = row.split("|")[1]
        (written,) = [line for line in page if line.startswith(f"|{name}|")]
        assert numbers(written) == pytest.approx(numbers(row), rel=0.1), "run: python -m tools.sizes"


def numbers(row):
    """The numbers of a row of a table."""
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", row)]


def test_the_readme_has_an_example():
    assert any(example.page.name == "README.md" for example in EXAMPLES)


_PYTHON = r"^ *```+ *py(?!thon (?!continued)\w)"  # a fence that names a framework is for the tests of its adapter


def test_no_fence_is_python_without_being_an_example():
    assert len(EXAMPLES) == sum(len(re.findall(_PYTHON, page.read_text(), re.MULTILINE)) for page in PAGES)


def test_no_indented_block_is_python_without_being_an_example():
    assert [(example.page.name, example.line) for page in (*PAGES, *SOURCES) for example in hidden(page)] == []


@pytest.mark.parametrize(
    "code", ["    import os\n", "    with open(x) as f:\n        f.read()\n\n    print(1)\n", "    f(1)  # so\n"]
)
def test_indented_python_is_found_in_pages_and_docstrings(code, tmp_path):
    page, source = tmp_path / "page.md", tmp_path / "module.py"
    page.write_text(f"Text:\n\n{code}\nMore.\n")
    source.write_text(f'"""Text:\n\n{code}\nMore.\n"""\n')
    assert [[example.line for example in hidden(each)] for each in (page, source)] == [[3], [3]]


@pytest.mark.parametrize(
    "text",
    [
        "    make test    # all\n",
        "    pip install x\n",
        "```python\n    a = 1\n```\n",
        "- a\n    b = 1\n",
        "    agent.db\n    <page>\n",
    ],
)
def test_other_indented_text_is_not_python(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Text.\n\n{text}")
    assert list(hidden(page)) == []


def test_a_block_goes_on_where_it_says_so_and_every_line_keeps_its_number(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\n```\n```sh\nls\n```\n```python continued\nb = a\n```\n```python\nc = 3\n```\n")
    assert [(example.line, example.code) for example in blocks(page)] == [
        (2, "\na = 1\n"),
        (8, "\na = 1\n\n\n\n\n\nb = a\n"),
        (11, "\n" * 10 + "c = 3\n"),
    ]


def test_the_prompts_of_a_docstring_are_an_example(tmp_path):
    source = tmp_path / "module.py"
    source.write_text('def f():\n    """Gives 1.\n\n    >>> for n in (1, 2):\n    ...     f()\n    1\n    """\n')
    assert [(example.line, example.code) for example in prompts(source)] == [(4, "\n\n\nfor n in (1, 2):\n    f()\n")]


def test_a_type_error_in_an_example_is_told_with_its_page_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```python\nimport pageturn as pt\n\npt.user(3).nothing\n```\n")
    found = complaints(blocks(page))
    assert {each.checker for each in found} == {"mypy", "pyright"}
    assert {(each.page, each.line) for each in found} == {("page.md", 6)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_is_about_one_screen_and_names_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert {"make demo", "make test"} <= {line.split("#")[0].strip() for line in text.splitlines()}


def test_the_table_of_choosing_a_policy_is_what_its_function_gives():
    (example,) = [example for example in EXAMPLES if example.page.name == "choosing.md"]
    names = {}
    exec(compile(example.code, "choosing.md", "exec"), names)
    rows = re.findall(r"^\| `(\w.*\))` \| ([\d,]+ \| [\d,]+ \| \d+) \|$", example.page.read_text(), re.MULTILINE)
    assert len(rows) == 6
    for policy, written in rows:
        grown = names["sizes"](eval(f"pt.{policy}", {"pt": pt}))
        shrunk = sum(after < before for before, after in pairwise(grown))
        found = [max(grown) / 1000, sum(grown) / 1000, shrunk]
        assert numbers(written) == pytest.approx(found, rel=0.05), policy


def sections(page):
    return re.findall(r"^## (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)


def test_every_fault_has_its_section():
    codes = [str(fault.__struct_config__.tag) for fault in AnyFault.__args__]
    assert sorted(sections("faults.md")) == sorted(codes)
    assert_complete("faults.md")


def test_every_public_error_has_its_section():
    family = {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, pt.PageturnError)
    }
    for source in SOURCES:
        for name, base in re.findall(r"^class ([A-Z]\w+)\((\w+)", source.read_text(), re.MULTILINE):
            family |= {name} if base in family else set()
    assert sorted(sections("errors.md")) == sorted(family)
    assert_complete("errors.md", besides={"PageturnError"})


def assert_complete(page, besides=frozenset()):
    """Each section says what it means, when it happens, and what to do."""
    told = re.split(r"^## ", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)[1:]
    for section in told:
        if section.partition("\n")[0] not in besides:
            assert re.findall(r"^\*\*(\w+)\.\*\*", section, re.MULTILINE) == ["Means", "When", "Do"], section


def test_the_pages_that_messages_name_exist():
    """A message ends with "(docs/PAGE.md, SECTION)"."""
    named = [place for source in SOURCES for place in re.findall(r"\(docs/([\w-]+\.md), ([^)]+)\)", source.read_text())]
    assert len(named) > 5
    for page, section in named:
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        assert section in headings, (page, section)


def test_how_it_works_names_every_room():
    tree = (ROOT / "docs" / "how-it-works.md").read_text().split("src/pageturn/\n")[1].split("```")[0]
    package = ROOT / "src" / "pageturn"
    rooms = {f"{path.name}/" if path.is_dir() else path.name for path in package.iterdir()}
    assert {name for name in rooms if name[0] not in "_." and name != "py.typed"} <= set(re.findall(r"[\w/.]+", tree))


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
    return value in Part.__args__ or any(family in value.__mro__[1:] for family in (pt.Fault, pt.DerivePolicy))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_that_the_documentation_gives_exist(page):
    for name in re.findall(r"`(pageturn(?:\.\w+)+)`", page.read_text()):
        resolve_name(name)


def test_the_tests_that_the_documentation_names_exist():
    page = (ROOT / "docs" / "testing.md").read_text()
    rows = [line for line in page.splitlines() if "::test_" in line]
    assert len(rows) > 20
    for row in rows:
        source = ""
        for file, test in re.findall(r"`([\w/]+\.py)::|\b(test_\w+)`", row):
            if file:
                source = (ROOT / "tests" / file).read_text()
            else:
                assert f"def {test}(" in source, row


@pytest.mark.parametrize("room", sorted(path.parent.name for path in (ROOT / "src" / "pageturn").glob("*/__init__.py")))
def test_every_room_says_what_it_is_for_who_may_use_it_and_what_it_may_use(room):
    told = " ".join((resolve_name(f"pageturn.{room}").__doc__ or "").split())
    assert re.match(r"[A-Z]\w+: ", told), "what it is for"
    sentences = re.split(r"[.;] ", told)
    assert sum(re.search(r"\b(?:They|It|it) uses? ", each) is not None for each in sentences) == 1, "what it may use"
    assert any(re.search(r"\buses? (?:it|them)\b", each) for each in sentences), "who may use it"
