"""What is installed with the library: little, each package with a reason, and what is not there is named by what needs it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
CORE = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
{code}
"""
LOOP = """
import pageturn as pt
from pageturn.tokens.counters import counter_for
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
session = pt.Session.open(id="s")
session.append(pt.system("You are an agent."))
session.append(pt.user("hello world " * 400))
context = session.derive(budget_tokens=2_000)
for format in (anthropic, gemini, openai_chat, openai_responses):
    format.dump(context)
print(counter_for("gpt-5").text("hello world"), session.recall("hello").hits != ())
"""
COMMAND = "from pageturn.__main__ import main; main()"


def package(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def without(*names, code):
    """Run code on a machine that lacks some packages."""
    return subprocess.run(
        [sys.executable, "-c", CORE.format(hidden=names, code=code)], capture_output=True, text=True, check=False
    )


def test_the_core_has_at_most_six_packages_and_the_record_names_each():
    record = (ROOT / "docs" / "decisions" / "0002-dependencies.md").read_text()
    assert len(PROJECT["dependencies"]) <= 6
    for requirement in [*PROJECT["dependencies"], *(each for name in EXTRAS if name != "dev" for each in EXTRAS[name])]:
        assert package(requirement) in record


def test_a_session_works_with_the_core_alone():
    shown = without("click", "rich", "splintr", "httpx2", "numpy", "resvg_py", "tiktoken", "pydantic", code=LOOP)
    assert (shown.stdout, shown.stderr) == ("2 True\n", "")


def test_the_command_says_what_it_lacks():
    shown = without("rich", code=COMMAND)
    assert shown.returncode == 1
    assert shown.stderr == "the command line needs more packages: pip install 'pageturn[cli]'\n"


def test_an_adapter_says_what_it_lacks():
    shown = without("langchain", code="import pageturn.adapters.langchain")
    assert shown.stderr.endswith("the LangChain middleware needs more packages: pip install 'pageturn[langchain]'\n")


def test_an_error_of_our_own_is_not_taken_for_a_package_that_lacks():
    shown = without("pageturn.apps.cli.main", code=COMMAND)
    assert "ModuleNotFoundError" in shown.stderr
