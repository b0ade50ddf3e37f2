"""The pictures of the documentation show what the renderers make today."""

from xml.etree import ElementTree as ET

import pytest

from pageturn.renditions import ContentType
from tools import pictures
from tools.picture_samples import SAMPLES


def test_there_is_a_picture_for_each_content_type():
    assert set(SAMPLES) == set(map(str, ContentType))
    assert {path.stem for path in pictures.FOLDER.iterdir()} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_picture_is_what_would_be_drawn_today(name):
    drawn = pictures.picture(name, SAMPLES[name])
    assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "run: make pictures"
    assert len(drawn) < 20_000
    ET.fromstring(drawn)
