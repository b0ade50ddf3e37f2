"""Defines the colours of a report, light and dark, and its style sheets.

The first colours of policies are near those of Okabe and Ito, which people with any kind of colour vision can tell apart; each policy
also has a shape and its name. The levels of pages go from dark to light.
"""

from collections.abc import Mapping
from string import Template
from typing import Final

from pageturn.lab.results import Form

_LIGHT = {
    "paper": "#ffffff", "panel": "#f6f8fa", "ink": "#1f2328", "faint": "#59636e", "grid": "#e4e8ec", "axis": "#8c959f",
    "front": "#afb8c1", "beaten": "#f3f5f7", "alarm": "#cf222e",
    "c0": "#0072b2", "c1": "#d55e00", "c2": "#009e73", "c3": "#b8578f", "c4": "#c98a00", "c5": "#3a9bd6", "c6": "#57606a", "c7": "#7048b6",
    "full": "#3778b0", "compressed": "#74acd9", "structured": "#b9d8ef", "pointer": "#e69f00", "line": "#f5d28a",
    "other": "#b4bbc3",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "panel": "#151b23", "ink": "#e6edf3", "faint": "#9198a1", "grid": "#262c34", "axis": "#656c76",
    "front": "#4b535d", "beaten": "#12171e", "alarm": "#ff7b72",
    "c0": "#4aa8e8", "c1": "#f2843f", "c2": "#2cc295", "c3": "#dd97bd", "c4": "#f0b93a", "c5": "#93d3f7", "c6": "#b1bac4", "c7": "#b392f0",
    "full": "#5a9bd6", "compressed": "#3a70a6", "structured": "#27496b", "pointer": "#e0a030", "line": "#8a6a24",
    "other": "#535b65",
}  # fmt: skip
COLOURS: Final = 8
FORMS: Final = (Form.OTHER, Form.LINE, Form.POINTER, Form.STRUCTURED, Form.COMPRESSED, Form.FULL)  # from below

_LETTERS = """
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 12px }
.small { font-size: 11px } .title { font-size: 13px; font-weight: 600 }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round } .dashed { fill: none; stroke-width: 1.4; stroke-dasharray: 5 4 }
.thin { stroke-width: 1 } .halo { stroke-width: 3; paint-order: stroke; stroke-linejoin: round } .front { stroke-width: 2; fill: none; stroke-linejoin: round }
.hover { fill-opacity: 0 }
"""
_INKS = Template(
    """
text { fill: $ink } .faint { fill: $faint } .halo { stroke: $paper } .paper { fill: $paper } .panel { fill: $panel }
.grid { stroke: $grid } .axis { stroke: $axis } .dashed { stroke: $faint } .front { stroke: $front } .beaten { fill: $beaten } .lead { stroke: $axis }
.alarm { fill: $alarm } .hollow { fill: $paper; stroke: $faint; stroke-width: 1.6 } .bound { stroke: $faint; stroke-width: 1.6 }
.hover:hover { fill: $ink; fill-opacity: .08 }
"""
    + "".join(f".c{at} {{ fill: $c{at} }} .line.c{at} {{ fill: none; stroke: $c{at} }}\n" for at in range(COLOURS))
    + "".join(f".{form} {{ fill: ${form} }}\n" for form in FORMS).replace(".line {", ".run {")
)
_PAGE = Template("""
body { margin: 0 auto; max-width: 1000px; padding: 28px 18px 60px; background: $paper; color: $ink; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
h1 { font-size: 26px; margin: 0 0 4px } h2 { font-size: 20px; margin: 32px 0 4px; overflow-wrap: anywhere } h3 { font-size: 16px; margin: 34px 0 2px }
p.alarm { color: $alarm } p { margin: 2px 0 10px; max-width: 76ch } .note, figcaption { color: $faint } figure { margin: 0 } figcaption { margin-bottom: 12px; max-width: 92ch; overflow-wrap: anywhere } svg { display: block; width: 100%; height: auto }
.narrow { display: none } .scroll { overflow-x: auto } header { display: flex; justify-content: space-between; align-items: start; gap: 12px }
button { font: inherit; font-size: 13px; color: $ink; background: $panel; border: 1px solid $grid; border-radius: 6px; padding: 4px 10px; cursor: pointer; white-space: nowrap }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; margin-top: 8px; width: 100% }
th, td { padding: 4px 8px; text-align: right; border-bottom: 1px solid $grid; white-space: nowrap } th { color: $faint; font-weight: 600; vertical-align: bottom }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: $paper } tr.best td { background: $panel } td small { color: $faint; display: block; font-size: 11px }
#tip { position: fixed; display: none; pointer-events: none; white-space: pre; z-index: 9; font: 12px/1.45 system-ui, sans-serif; color: $ink; background: $panel; border: 1px solid $axis; border-radius: 6px; padding: 6px 9px; box-shadow: 0 3px 12px #0003; max-width: 92vw; overflow: hidden }
@media (max-width: 700px) { h1 { font-size: 21px } h2 { margin-top: 28px } body { padding: 16px 10px 40px } .wide { display: none } .narrow { display: block } }
@media print { button { display: none } }
""")


def drawing_style() -> str:
    """The style of a drawing in a file of its own; with plain colours, since not every program supports variables."""
    dark = f"@media (prefers-color-scheme: dark) {{{_INKS.substitute(_DARK)}}}\n"
    return f"{_LETTERS}{_INKS.substitute(_LIGHT)}{dark}"


def page_style() -> str:
    """The style of a page with its drawings: following the reader's system, or the button."""
    variables = {name: f"var(--{name})" for name in _LIGHT}
    return "".join(
        (
            f":root {{ color-scheme: light dark; {_set(_LIGHT)} }}\n",
            f"@media (prefers-color-scheme: dark) {{ :root {{ {_set(_DARK)} }} }}\n",
            f":root[data-theme=light] {{ color-scheme: light; {_set(_LIGHT)} }}\n",
            f":root[data-theme=dark] {{ color-scheme: dark; {_set(_DARK)} }}",
            _PAGE.substitute(variables),
            _LETTERS,
            _INKS.substitute(variables),
        )
    )


def _set(colours: Mapping[str, str]) -> str:
    return "; ".join(f"--{name}: {colour}" for name, colour in colours.items())


def form_class(form: Form) -> str:
    """The class of the areas of a form; a line of text and a line that is drawn are not the same."""
    return "run" if form is Form.LINE else str(form)
