"""Images: drawings as PNG, by a program that only this needs."""

from pageturn.errors import InvalidInput

_ZOOM = 2  # pixels of the image for one of the drawing, so that it is sharp on a good screen


def png(svg: str) -> bytes:
    """A drawing as PNG."""
    try:
        import resvg_py  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise InvalidInput(
            "png", expected="a program that draws images", got="none; pip install 'pageturn[report]'"
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
