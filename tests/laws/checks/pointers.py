"""L6: every handle that is shown can be redeemed; without the recall tool there is none."""

from collections.abc import Iterator

import pageturn as pt
from tests.laws.case import Case
from tests.laws.model import HANDLE, words


def problems(case: Case) -> Iterator[str]:
    has_tool = any(isinstance(tool, pt.RecallTool) for tool in case.context.tools)
    if has_tool is not (case.recall is not None):
        yield f"the recall tool is {'there' if has_tool else 'missing'}"
    handles = case.model.handles
    for each in case.ours:
        for found in HANDLE.finditer(words(each.message)):
            item = handles.get(found[0])
            if not has_tool:
                yield f"message {each.at} shows {found[0]}, and there is no recall tool"
            elif item is None:
                yield f"message {each.at} shows {found[0]}, which is no handle of this session"
            elif item.erased:
                yield f"message {each.at} shows {found[0]}, which was erased"
    for notice in case.context.notices if not has_tool else ():
        if HANDLE.search(notice):
            continue  # people read notices, and they can resolve handles
