"""The references of the documentation are what the code says today, and its site has every page."""

import re

import pytest

from tools import references, site

DOCS = site.ROOT / "docs"


@pytest.mark.parametrize("name", references.PAGES)
def test_a_reference_is_what_would_be_written_today(name):
    assert (references.FOLDER / name).read_text("utf-8") == references.PAGES[name](), "run: make references"


def test_the_api_reference_has_what_a_reader_looks_for():
    api = references.api()
    assert "append(message: Message, usage: Usage | None = None) -> Page" in api
    assert "reader: SessionReader" in api  # a property is not called
    assert "feed(event: Any) -> None" in api  # of a class that has it from its base
    assert not re.search(r"\((?:self|cls)\b", api)


def test_every_page_is_in_the_navigation_once():
    navigation = (site.ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"- (?:\w+: )?(\S+\.md)$", navigation, re.MULTILINE)
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    records = {name for name in written if re.match(r"decisions/\d", name)}
    made = {name for name in site.extra_pages() if name.endswith(".md")}
    assert len(named) == len(set(named))
    assert set(named) == (written - records) | made


def test_links_of_the_front_page_lead_to_pages_of_the_site():
    pages = site.extra_pages()
    for page in ("index.md", "contributing.md", "changelog.md"):
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", pages[page]):
            assert target in pages or (DOCS / target).is_file(), (page, target)


def test_a_link_to_a_page_of_the_root_leads_to_its_page_of_the_site():
    assert site.for_site("[so](../README.md#limits)") == "[so](index.md#limits)"


def test_a_fence_that_goes_on_has_only_its_language_on_the_site():
    assert site.for_site("```python continued\nx = 1\n```\n") == "```python\nx = 1\n```\n"
