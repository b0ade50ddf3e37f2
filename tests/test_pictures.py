"""The pictures of the documentation show what the renderers make today."""

from xml.etree import ElementTree as ET

import pytest

from pageturn.context.renditions import ContentType
from tools import demo_picture, fold_picture, front_picture, pictures, report_pictures, turn_picture
from tools.picture_samples import SAMPLES


def test_there_is_a_picture_for_each_content_type():
    assert set(SAMPLES) == set(map(str, ContentType))
    reports = {f"report-{name}" for name in report_pictures.NAMES}
    assert {path.stem for path in pictures.FOLDER.iterdir()} == set(SAMPLES) | reports | {
        turn_picture.NAME,
        demo_picture.NAME,
        fold_picture.NAME,
        *front_picture.PICTURES,
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_a_picture_is_what_would_be_drawn_today(name):
    drawn = pictures.picture(name, SAMPLES[name])
    assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run: make pictures"
    assert len(drawn) < 20_000
    ET.fromstring(drawn)


def test_the_pictures_of_a_report_are_what_would_be_drawn_today():
    for name, drawn in report_pictures.pictures().items():
        assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run: make pictures"
        ET.fromstring(drawn)


def test_the_picture_of_the_three_names_is_what_would_be_drawn_today():
    drawn = fold_picture.picture()
    assert (pictures.FOLDER / f"{fold_picture.NAME}.svg").read_text(encoding="utf-8") == drawn, "run: make pictures"
    ET.fromstring(drawn)


def test_the_picture_of_the_front_shows_the_tables_of_the_results():
    text = front_picture.RESULTS.read_text(encoding="utf-8")
    points = [point for every in front_picture.tables(text).values() for point in every]
    assert {point.method for point in points} > {*front_picture.NAMES, "cut", "masking"}
    for name, budgets in front_picture.PICTURES.items():
        drawn = front_picture.drawn(text, budgets)
        assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run: make pictures"
        ET.fromstring(drawn)
