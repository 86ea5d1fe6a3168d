"""The facts of the interceptor tell which image does what."""

import pytest

from planning.interceptor.facts import facts
from tests.support.stacks.varied_metering import DIGEST, HEADER_IMAGE, LABEL_IMAGE


@pytest.mark.parametrize(
    ("image", "mode"),
    [
        (LABEL_IMAGE, "label"),
        (HEADER_IMAGE, "header"),
        (LABEL_IMAGE.replace("/phoebe:", "/meter:"), None),
        (f"registry.example/phoebe@{DIGEST}", None),
    ],
)
def test_the_tag_of_an_image_tells_its_mode(image, mode):
    line = facts().line_of(image)
    assert (line and line.mode) == mode


@pytest.mark.parametrize(("mode", "reads"), [("label", True), ("header", False)])
def test_only_images_that_search_read_where_to_search(mode, reads):
    assert ("registry" in facts().line(mode).settings) is reads
