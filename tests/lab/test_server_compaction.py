"""What providers do themselves at a threshold, on a session whose sizes are known."""

import pageturn as pt
from pageturn.lab.baselines import everything
from pageturn.lab.server_compaction import clear_tool_uses, compact
from pageturn.lab.traces import Trace, estimated_tokens

TURNS = 12


def recorded():
    """Twelve reads of 1,000 tokens each, after a rule and a task."""
    messages = [pt.system("Never push to main."), pt.user("Fix src/auth/login.py")]
    for number in range(TURNS):
        read = pt.ToolCall(id=f"c{number}", name="read", arguments=f'{{"path": "src/part_{number}.py"}}')
        messages += [pt.assistant("reading", read), pt.tool_result(read, f"value_{number} = 1\n" * 300)]
    return Trace("one", "made", (*messages, pt.assistant("done")))


def sizes(shows):
    return [sum(map(estimated_tokens, shown)) for shown in shows(recorded())]


def test_below_the_threshold_everything_is_sent():
    whole = [list(shown) for shown in everything(recorded())]
    for shows in (compact(10**6), compact(10**6, keeps_people=True), clear_tool_uses(10**6)):
        assert [list(shown) for shown in shows(recorded())] == whole


def test_a_compaction_leaves_the_prompt_and_a_summary_and_then_it_grows_again():
    found = list(compact(5_000)(recorded()))
    small = [at for at, shown in enumerate(found) if at and len(shown) < len(found[at - 1])]
    assert len(small) >= 2
    for at in small:
        prompt, summary = found[at]
        assert prompt.text == "Never push to main."
        assert "login.py" in summary.text
        assert all(later[:2] == found[at] for later in found[at + 1 : at + 2])
    assert max(sizes(compact(5_000))) <= 5_000


def test_what_the_user_asked_stands_beside_the_summary_where_it_is_kept():
    shown = min(list(compact(5_000, keeps_people=True)(recorded()))[8:], key=len)
    assert [message.text for message in shown[:2]] == ["Never push to main.", "Fix src/auth/login.py"]


def test_tool_uses_are_cleared_but_for_the_last_three_and_only_above_the_threshold():
    found = list(clear_tool_uses(5_000)(recorded()))
    for shown, whole in zip(found, everything(recorded()), strict=True):
        assert len(shown) == len(whole)
        stand = [ours == theirs for ours, theirs in zip(shown, whole, strict=True) if theirs.tool_results]
        assert all(stand[-3:])
        assert stand == sorted(stand)  # the oldest are cleared first
    assert max(sizes(everything)) > 5_000
    assert max(sizes(clear_tool_uses(5_000))) <= 5_000
