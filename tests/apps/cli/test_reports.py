"""The report of replays, written as a user has it written."""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import pageturn as pt
from pageturn.lab.report import images
from tests.apps.cli.command import run

EXAMPLE = Path(__file__).parents[2] / "lab" / "example-results.jsonl"
FIGURES = {"cost-coverage", "residency", "spending", "faults"}


def test_a_report_is_a_page_and_if_wanted_pictures(tmp_path):
    page, folder = tmp_path / "new" / "page.html", tmp_path / "pictures"
    shown = run("report", EXAMPLE, "--out", page, "--svg", folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "4 pictures" in shown.stdout
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {path.name for path in folder.iterdir()} == {f"{name}.svg" for name in FIGURES}
    for path in folder.iterdir():
        ET.parse(path)


def test_a_second_run_writes_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        assert run("report", EXAMPLE, "--out", tmp_path / name).returncode == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_results_may_stand_in_several_files(tmp_path):
    for number, line in enumerate(EXAMPLE.read_bytes().splitlines(keepends=True)):
        (tmp_path / f"{number}.jsonl").write_bytes(line)
    run("report", EXAMPLE, "--out", tmp_path / "one")
    run("report", *sorted(tmp_path.glob("*.jsonl")), "--out", tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "results: expected at least one result of a replay, got none"),
        ('{"trace": 1}\n', "results.jsonl:1: expected a result of a replay"),
        ("not json\n", "results.jsonl:1: expected a result of a replay"),
    ],
)
def test_what_is_not_results_is_refused_and_nothing_is_written(tmp_path, content, complaint):
    results, page = tmp_path / "results.jsonl", tmp_path / "page.html"
    results.write_text(content)
    wrong = run("report", results, "--out", page)
    assert wrong.returncode == 1
    assert complaint in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert not page.exists()


def test_a_session_that_is_not_there_is_refused(tmp_path):
    wrong = run("report", EXAMPLE, "--out", tmp_path / "page.html", "--session", "nobody")
    assert wrong.returncode == 1
    assert "session: expected one of coding-" in wrong.stderr


def test_without_the_extra_an_image_is_refused_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(pt.PageturnError, match=r"pip install 'pageturn\[report\]'"):
        images.png("<svg/>")


def test_images_are_png_of_twice_the_size(tmp_path):
    pytest.importorskip("resvg_py", reason="PNG needs the extra: report")
    shown = run(
        "report", EXAMPLE, "--out", tmp_path / "page.html", "--svg", tmp_path / "svg", "--png", tmp_path / "png"
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    for path in (tmp_path / "png").iterdir():
        data = path.read_bytes()
        drawing = ET.parse(tmp_path / "svg" / f"{path.stem}.svg").getroot()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(data[16:20]) == pytest.approx(2 * float(drawing.get("width")), abs=2)
    assert {path.stem for path in (tmp_path / "png").iterdir()} == FIGURES
