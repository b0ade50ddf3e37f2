"""Converts drawings to PNG; needs an extra."""

from pageturn.values.errors import MissingExtra

_ZOOM = 2  # pixels of the image for one of the drawing, so that it is sharp on a good screen


def png(svg: str) -> bytes:
    """A drawing as PNG."""
    try:
        import resvg_py  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtra("PNG", extra="report") from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
