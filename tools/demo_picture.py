"""Draws docs/pictures/demo.svg: what `make demo` prints on a terminal.

make pictures
"""

import re
from io import StringIO

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from pageturn.apps.cli.demo import show_demo
from tools.pictures import FOLDER

NAME = "demo"
WIDTH = 90
# Rich's own frame asks for a font from elsewhere; a picture of ours asks for nothing.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-family: system-ui, sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def main() -> None:
    (FOLDER / f"{NAME}.svg").write_text(picture(), encoding="utf-8")


def picture() -> str:
    """The demo as a picture of a terminal."""
    console = Console(
        file=StringIO(),
        width=WIDTH,
        record=True,
        force_terminal=True,
        force_interactive=False,  # the line that moves would stay
        color_system="truecolor",
        legacy_windows=False,
    )
    show_demo(console)
    drawn = console.export_svg(title="make demo", theme=SVG_EXPORT_THEME, code_format=FORMAT, unique_id=NAME)
    return re.sub(r"[ \t]+\n", "\n", drawn)


if __name__ == "__main__":
    main()
