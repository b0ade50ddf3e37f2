"""A renderer of your own: what matters in the output of `pip install`, for when a page is shown compressed."""

import pageturn as pt
from pageturn.context.renditions import BUILT_IN, Line, Material, Renderers
from pageturn.testing import check_renderer

NOISE = ("Collecting ", "Downloading ", "  Downloading ", "Requirement already satisfied")
NEWS = ("ERROR", "WARNING", "Successfully installed", "Could not")


def pip_install(material: Material) -> list[Line]:
    """Every line with its weight: lines of greater weight are kept first, and a mark says how many were left out between them."""
    return [Line(line, _weight(line)) for line in material.text.split("\n")]


def _weight(line: str) -> float:
    if line.startswith(NOISE) or not line.strip():
        return 0.0  # kept only if everything fits
    return 3.0 if line.startswith(NEWS) else 1.0


def main() -> None:
    """Check it with the suite for renderers, and use it for the tool `pip`."""
    check_renderer(pip_install)
    output = [f"Collecting package_{n}\n  Downloading package_{n}-1.0-py3-none-any.whl" for n in range(200)]
    output += ["ERROR: package_7 needs Python 3.13", "Successfully installed package_0"]
    renderers = Renderers(BUILT_IN.by_type, by_tool={"pip": pip_install})
    with pt.Session.open(renderers=renderers) as session:
        session.append(pt.user("Install everything."))
        call = pt.ToolCall(id="c1", name="pip", arguments='{"args": ["install", "-r", "requirements.txt"]}')
        session.append(pt.assistant("Installing.", call))
        page = session.append(pt.tool_result(call, "\n".join(output)))
        context = session.derive(budget_tokens=6_500)
        print(context.explain(page.handle))
        print(context.messages[-1].tool_results[0].content)


if __name__ == "__main__":
    main()
