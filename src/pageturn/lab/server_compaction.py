"""Imitates what providers do themselves when a prompt passes a threshold, as their documentation describes it.

The threshold is the budget, so that all methods of a table have the same. A provider's summary is written by a model; the stand-in
here takes first lines and frequent names, in as many tokens as the median summary of recorded sessions. Writing it is not billed.
"""

from collections.abc import Iterator

from pageturn.lab.baselines import folded, masked
from pageturn.lab.our_policies import first_lines
from pageturn.lab.replay import Shows
from pageturn.lab.traces import Trace, estimated_tokens
from pageturn.values.messages import Message, Role, user

SUMMARY_TOKENS = 2_900
_KEPT_USES = 3  # of tools, where nothing else is asked for
_OPENING = (Role.SYSTEM, Role.DEVELOPER)


def compact(threshold_tokens: int, *, keeps_people: bool = False) -> Shows:
    """Everything before is replaced by a summary: Anthropic's `compact_20260112`, and OpenAI's `compact_threshold` with `keeps_people`.

    OpenAI's item is opaque. That it carries on what the user asked is all that is known, so users' messages are kept beside the summary.
    """
    stays = (*_OPENING, Role.USER) if keeps_people else _OPENING

    def shows(trace: Trace) -> Iterator[list[Message]]:
        def summarised(turn: int) -> list[Message]:
            past = trace.messages[:turn]
            summary = first_lines([each for each in past if each.role not in _OPENING], 4 * SUMMARY_TOKENS)
            return [*(each for each in past if each.role in stays and not each.tool_results), user(summary)]

        return folded(trace, threshold_tokens, summarised)

    return shows


def clear_tool_uses(threshold_tokens: int, *, keep: int = _KEPT_USES) -> Shows:
    """All tool results but the last few are emptied: Anthropic's `clear_tool_uses_20250919`. The prompt may still be too large."""

    def shows(trace: Trace) -> Iterator[list[Message]]:
        shown: list[Message] = []
        whole: list[int] = []  # where results are that were not emptied
        tokens = 0
        for turn in trace.turns:
            fresh = trace.messages[len(shown) : turn]
            whole += [len(shown) + at for at, message in enumerate(fresh) if message.tool_results]
            shown += fresh
            tokens += sum(map(estimated_tokens, fresh))
            if tokens > threshold_tokens:
                for at in whole[: max(0, len(whole) - keep)]:
                    emptied = masked(shown[at])
                    tokens += estimated_tokens(emptied) - estimated_tokens(shown[at])
                    shown[at] = emptied
                del whole[: max(0, len(whole) - keep)]
            yield list(shown)

    return shows
