"""What is published: a wheel and an sdist, built from a clean copy, and what an empty environment gets from the wheel."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"pageturn-{PROJECT['version']}"
RANKS = "pageturn/tokens/encodings/ranks/"
MOST_BYTES = 1_200_000  # of a wheel without the vocabularies: docs/decisions/0116-the-size-of-the-wheel.md
MOST_RANKS = 1_230_000
BUILD = "from hatchling.build import build_sdist, build_wheel; build_sdist({0!r}); build_wheel({0!r})"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
is_long = bool(os.environ.get("PAGETURN_LONG"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the built files, made from what git knows of this checkout."""
    pytest.importorskip("hatchling", reason="building needs hatchling, which the extra `dev` has")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no git checkout, so nobody knows which files belong to it")
    clean, built = tmp_path_factory.mktemp("clean"), tmp_path_factory.mktemp("built")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (clean / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clean / name)
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(str(built))], cwd=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def wheel(built):
    return built / f"{NAME}-py3-none-any.whl"


def test_both_files_have_their_names(built):
    assert sorted(file.name for file in built.iterdir()) == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]


def test_the_wheel_is_small_but_for_its_vocabularies(wheel):
    with zipfile.ZipFile(wheel) as packed:
        ranks = [file.compress_size for file in packed.infolist() if file.filename.startswith(RANKS)]
    assert len(ranks) == 2
    assert sum(ranks) < MOST_RANKS
    assert wheel.stat().st_size - sum(ranks) < MOST_BYTES


def test_the_wheel_has_the_package_its_types_and_its_licences_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        assert b"tiktoken" in packed.read(f"{NAME}.dist-info/licenses/NOTICE")
    assert {name.partition("/")[0] for name in names} == {"pageturn", f"{NAME}.dist-info"}
    assert {"pageturn/py.typed", "pageturn/apps/inspector/assets/index.html"} <= names
    assert {f"{NAME}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")} <= names
    here = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src").rglob("*.py")}
    assert here <= names


def test_the_metadata_say_what_a_user_looks_for(wheel):
    with zipfile.ZipFile(wheel) as packed:
        told = message_from_bytes(packed.read(f"{NAME}.dist-info/METADATA"))
        scripts = packed.read(f"{NAME}.dist-info/entry_points.txt").decode()
    assert (told["Name"], told["Version"], told["License-Expression"]) == ("pageturn", PROJECT["version"], "MIT")
    assert told["Requires-Python"] == ">=3.11"
    assert told["Author"] == "The Pageturn authors"
    assert {f"Programming Language :: Python :: {version}" for version in PYTHONS} <= set(told.get_all("Classifier"))
    assert set(PROJECT["optional-dependencies"]) == set(told.get_all("Provides-Extra"))
    assert told.get_payload().startswith("# Pageturn")
    assert "pageturn = pageturn.__main__:main" in scripts


def test_the_sdist_has_the_sources_and_no_recordings(built):
    with tarfile.open(built / f"{NAME}.tar.gz") as packed:
        names = {name.removeprefix(f"{NAME}/") for name in packed.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "src/pageturn/session.py"} <= names
    assert {name.partition("/")[0] for name in names} == {*(name for name in names if "/" not in name), "src"}


def interpreter(version):
    """A Python of that version on this machine, or None."""
    folders = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = [*map(str, folders), shutil.which(f"python{version}") or ""]
    for each in filter(None, found):
        asked = subprocess.run(
            [each, "-c", "import sys, venv; print(sys.version)"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and asked.stdout.startswith(f"{version}."):
            return each
    return None


@pytest.mark.long
@pytest.mark.skipif(not is_long, reason="it installs from a package index: set PAGETURN_LONG=1")
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works_in_an_empty_environment(version, wheel, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    inside = tmp_path / "venv" / "bin"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words):
        done = subprocess.run(
            [inside / words[0], *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    loop = "import pageturn as pt; s = pt.Session.open('a.db', id='s'); s.append(pt.user('hi')); print(s.derive().tokens > 0)"
    assert run("python", "-c", loop) == "True\n"
    run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[cli]")
    assert run("pageturn", "--version") == f"pageturn, version {PROJECT['version']}\n"
    assert "hi" in run("pageturn", "sessions", "a.db")
