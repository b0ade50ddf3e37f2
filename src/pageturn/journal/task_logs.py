"""Makes the entries that bring the plan and the prohibitions of a session in line with a task log."""

from pageturn.formats.task_log import TaskLog, says_no
from pageturn.journal.journal import Fresh
from pageturn.journal.paging import Pager, plan_in_force
from pageturn.values.entries import TASK_LOG, Unpinned
from pageturn.values.pages import PageKind


def prohibitions_of(pager: Pager, log: TaskLog) -> list[Fresh]:
    """The entries that pin what a task log forbids, and unpin what it forbade before unless somebody else pinned that too."""
    journal, state = pager.journal, pager.journal.state
    rules = {page: message.text for page in state.live_pages() if page.seq in state.pins
             if (message := journal.message(page)) is not None}  # fmt: skip
    # An earlier version pinned the bare words, as if they were an order; words that forbid by themselves do no harm.
    bare = {text for text in log.forbidden if not says_no(text)}
    fresh = []
    for page, text in rules.items():
        is_over = page.seq in state.from_task_log and text not in log.prohibitions
        if is_over or (text in bare and page.kind is PageKind.CONSTRAINT):
            fresh.append(Fresh(Unpinned(page=page.seq, withdrawn=True)))
    for rule in log.prohibitions:
        if rule not in rules.values():
            fresh += pager.constraint(rule, None, TASK_LOG, ahead=len(fresh))
    return fresh


def plan_of(pager: Pager, log: TaskLog, *, ahead: int) -> list[Fresh]:
    """The entries that set the plan of a task log, or clear the one that it set, after `ahead` other entries."""
    now, plan = pager.journal.state.plan, plan_in_force(pager.journal)
    if log.plan is not None:
        return pager.plan(log.plan, source=TASK_LOG, ahead=ahead) if log.plan != plan else []
    is_its = now is not None and (now.source == TASK_LOG or (plan is not None and plan.goal in log.goals))
    return pager.plan(None, source=TASK_LOG, ahead=ahead) if plan is not None and is_its else []
