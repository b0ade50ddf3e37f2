"""Every handle that is shown can be redeemed; without the recall tool there is none."""

import re
from collections.abc import Iterator

import pageturn as pt
from tests.laws.case import Case
from tests.laws.model import HANDLE, our_words, words

_RANGE = re.compile(
    rf"({HANDLE.pattern})\.\.({HANDLE.pattern})".replace("([1-9]", "(?:[1-9]").replace("([a-z", "(?:[a-z")
)

_POINTER = re.compile(r"<page>\n[^\n]* [\d,]+ characters\n</page>\Z")


def problems(case: Case) -> Iterator[str]:
    has_tool = any(isinstance(tool, pt.RecallTool) for tool in case.context.tools)
    if has_tool is not (case.recall is not None):
        yield f"the recall tool is {'there' if has_tool else 'missing'}"
    handles = case.model.handles
    quoted = "\n".join(words(item.message) for item in case.model.live)  # answers of the recall tool name pages too
    for each in case.ours:
        text = our_words(each.message)
        if not has_tool and _POINTER.match(text):
            yield f"message {each.at} is a pointer, and there is no recall tool: {text[7:60]!r}"
        ends = {
            end for span in _RANGE.finditer(text) if _resolves(case, span[1], span[2]) for end in (span[1], span[2])
        }
        for found in HANDLE.finditer(text):
            item = handles.get(found[0])
            if not has_tool:
                yield f"message {each.at} shows {found[0]}, and there is no recall tool"
            elif item is None:
                yield f"message {each.at} shows {found[0]}, which is no handle of this session"
            elif item.erased and found[0] not in ends and found[0] not in quoted:
                yield f"message {each.at} shows {found[0]}, which was erased"


def _resolves(case: Case, first: str, last: str) -> bool:
    """Whether a range has anything left to give; of a step, the result may be erased and the call not."""
    items = case.model.handles
    if first not in items or last not in items:
        return False
    return any(items[first].seq <= item.seq <= items[last].seq and not item.erased for item in case.model.items)
