"""The lab's figures, by their definitions: an implementation that is slow, obvious and shares nothing with the lab but the messages."""

import json
import os
import re
from itertools import islice
from pathlib import Path

import pytest

import pageturn as pt
from pageturn.lab.baselines import cut, keep_last, masking
from pageturn.lab.our_policies import Deriving
from pageturn.lab.replay import Recording, Shown
from pageturn.lab.synthetic_coding import coding_session
from pageturn.lab.traces import read_traces
from pageturn.values.messages import Text, Thinking, ToolResult
from pageturn.values.vendors import VENDORS
from tests.long import examples

DATA = Path(os.environ.get("PAGETURN_DATA", "../shared/data")) / "traces"
IDENTIFIER = re.compile(
    r"""(?:[\w.@~-]*/)+[\w.@-]+\.\w{1,8} | \b[0-9a-f]{7,40}\b | \b[A-Z]{2,}-\d+\b | \#\w*\d{3,}\b | \b\w*\d{4,}\w*\b
    | \b[a-z]+(?:_[a-z0-9]+)+\b | \b[a-z]+(?:[A-Z][a-z0-9]+)+\b | \b(?:[A-Z][a-z0-9]+){2,}\b""",
    re.VERBOSE,
)


def words(message):
    """The text of a message: its content, and name and arguments of its calls."""
    said = []
    for part in message.content:
        match part:
            case Text(text=text) | Thinking(text=text):
                said.append(text)
            case pt.ToolCall(name=name, arguments=arguments):
                said += [name, arguments]
            case ToolResult():
                said += [inner.text for inner in part.parts if isinstance(inner, Text)]
    return "\n".join(said)


def tokens(message):
    return len(words(message)) // 4


def names(text):
    found = {match[0] for match in IDENTIFIER.finditer(text)}
    return {name for name in found if 5 <= len(name) <= 160 and (len(name) >= 7 or not name.isalpha())}


def demanded(messages, turn):
    asked = set()
    for part in messages[turn].content:
        if isinstance(part, pt.ToolCall):
            asked |= names(part.arguments)
    return {name for name in asked if any(name in words(message) for message in messages[:turn])}


def stands_in(name, request):
    return any(name in words(message) for message in request)


def same(one, other):
    return (one.role, one.content) == (other.role, other.content)


def blocks(request):
    """The parts of all messages, each with who says it."""
    return [(message.role, part) for message in request for part in message.content]


def shared(request, before):
    """The blocks that both requests begin with."""
    ours, theirs = blocks(request), blocks(before)
    return next((at for at in range(len(ours)) if ours[: at + 1] != theirs[: at + 1]), len(ours))


def first(request, count):
    """The tokens of the first so many blocks: of messages, the last of which may be cut off between two parts."""
    total = 0
    for message in request:
        kept = message.content[:count]
        total += tokens(pt.Message(role=message.role, content=kept))
        count -= len(kept)
    return total


def bill(requests, tools=0, read=0.1, write=1.25):
    """By the longest common prefix; tools of its own stand before everything and never change."""
    cost, before = 0.0, None
    for request in requests:
        hit = first(request, shared(request, before)) + tools if before is not None else 0
        cost += read * hit + write * (tools + sum(map(tokens, request)) - hit)
        before = request
    return cost


def refetched(messages, turn, request, tools):
    """1.25 x the page + .1 x the request, for each page that was the latest to hold a name that is missed."""
    pages = set()
    for name in demanded(messages, turn):
        if not stands_in(name, request):
            pages.add(max(place for place in range(turn) if name in words(messages[place])))
    return sum(1.25 * tokens(messages[page]) + 0.1 * (tools + sum(map(tokens, request))) for page in pages)


def missed(messages, turn, request):
    """The latest page of everything that a turn names or quotes, that was said before, and that does not stand in its request."""
    pages = set()
    for name in demanded(messages, turn):
        if not stands_in(name, request):
            pages.add(max(place for place in range(turn) if name in words(messages[place])))
    for line in old_lines(messages[turn]):
        places = [place for place in range(turn) if line in lines(messages[place])]
        if places and not any(line in lines(message) for message in request):
            pages.add(max(places))
    return pages


def fetched(messages, pages, request, tools):
    """One more call that brings pages back: 1.25 x 8,000 tokens of each at most + .1 x the request + 5 x 60 tokens of output."""
    brought = sum(min(tokens(messages[page]), 8_000) for page in pages)
    return 1.25 * brought + 0.1 * (tools + sum(map(tokens, request))) + 5 * 60 if pages else 0


def old_lines(message):
    found = set()
    for part in message.content:
        if isinstance(part, pt.ToolCall):
            arguments = json.loads(part.arguments)
            for text in (value for name, value in arguments.items() if name in ("old_string", "old_str", "search")):
                found |= {line.strip() for line in text.splitlines() if len(line.strip()) >= 12}
    return found


def lines(message):
    """Every line that stands in a message, also without the number that a tool put before it."""
    found = set()
    for part in message.content:
        texts = [words(pt.Message(role=message.role, content=(part,)))]
        if isinstance(part, pt.ToolCall):
            texts += [value for value in json.loads(part.arguments).values() if isinstance(value, str)]
        for text in texts:
            for line in text.splitlines():
                found |= {line.strip(), re.sub(r"^\s*\d+[→\t|:]", "", line).strip()}
    return found


def joined(shows):
    """The same, with neighbours of one role as blocks of one message."""

    def shown(trace):
        for seen in shows(trace):
            request = []
            for message in seen.messages if isinstance(seen, Shown) else seen:
                if request and request[-1].role == message.role:
                    content = (*request.pop().content, *message.content)
                    request.append(pt.Message(role=message.role, content=content))
                else:
                    request.append(message)
            yield request

    return shown


METHODS = {
    "keep last": keep_last(3_000),
    "cut": cut(3_000, 0.4),
    "masking": masking(4),
    "paged": Deriving(pt.Paged(budget_tokens=3_000)),
    "legacy": Deriving(pt.Legacy(), budget_tokens=3_000),
    "reset": Deriving(pt.Reset(3_000)),
    "paged, joined": joined(Deriving(pt.Paged(budget_tokens=3_000))),
}


def check(trace, shows):
    recording = Recording(trace)
    # Whoever bills without forgetting tells nobody of pauses, so what is shown has none either.
    seen = list(shows(recording.trace))
    requests = [list(one.messages if isinstance(one, Shown) else one) for one in seen]
    # Ours adds the tool that brings pages back, and pays for it as for everything else.
    tools = (
        len(json.dumps([pt.RecallTool().definition], separators=(",", ":"))) // 4 if isinstance(shows, Deriving) else 0
    )
    score = recording.score(shows)
    messages, turns = trace.messages, trace.turns
    wanted = {turn: demanded(messages, turn) for turn in turns}
    assert score.demanded == sum(map(len, wanted.values()))
    assert score.covered == sum(
        stands_in(name, request) for turn, request in zip(turns, requests, strict=True) for name in wanted[turn]
    )
    assert score.billed == pytest.approx(bill(requests, tools), abs=0.01)
    assert score.whole == pytest.approx(bill([list(messages[:turn]) for turn in turns]), abs=0.01)
    assert score.refetched == pytest.approx(
        sum(refetched(messages, turn, request, tools) for turn, request in zip(turns, requests, strict=True)), abs=0.01
    )
    gone = [missed(messages, turn, request) for turn, request in zip(turns, requests, strict=True)]
    extra = sum(fetched(messages, pages, request, tools) for pages, request in zip(gone, requests, strict=True))
    assert (score.fetching, score.missing) == (pytest.approx(extra, abs=0.01), sum(map(bool, gone)))
    for price in (0, 2_000, 20_000):
        expected = (bill(requests, tools) + extra + price * sum(map(bool, gone))) / score.whole
        assert score.priced(price) == pytest.approx(expected, abs=0.0001)
    opening = sum(tokens(message) for message in messages[:1] if message.role == "system")
    sent = sum(map(tokens, messages[: turns[-1]]))
    assert score.floor == pytest.approx(1.25 * sent + 0.1 * opening * (len(turns) - 1), abs=0.01)
    assert score.largest == tools + max(sum(map(tokens, request)) for request in requests)
    return score, requests


@pytest.mark.parametrize("way", METHODS)
@pytest.mark.parametrize("seed", range(1, examples(2, whole=6)))
def test_every_figure_is_what_its_definition_says(way, seed):
    trace = coding_session(seed, 30)
    score, requests = check(trace, METHODS[way])
    wanted = shown = 0
    for turn, request in zip(trace.turns, requests, strict=True):
        before = set().union(*map(lines, trace.messages[:turn]))
        asked = old_lines(trace.messages[turn]) & before
        wanted += len(asked)
        shown += len(asked & set().union(*map(lines, request)))
    assert (score.lines_wanted, score.lines_shown) == (wanted, shown)
    assert wanted > 0


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded sessions in {DATA}; set PAGETURN_DATA")
@pytest.mark.parametrize("source", ["swe-agent.demos", "gemini-cli.session-bridge"])
def test_and_on_recorded_sessions(source):
    for trace in islice(read_traces(DATA / f"{source}.jsonl.gz"), 2):
        check(trace, METHODS["paged"])


# -- time


def ends(request, marks):
    """How many blocks there are up to the end of each marked message."""
    return [len(blocks(request[: mark + 1])) for mark in marks]


def test_a_bill_with_a_ttl_and_breakpoints_is_what_the_definition_says():
    trace = coding_session(1, 120)
    vendor = VENDORS["anthropic-5m"]
    shows = Deriving(pt.Paged(budget_tokens=6_000))
    replay = Recording(trace, vendor=vendor).replay(shows)
    cost, before, marks, asked = 0.0, [], [], None
    for turn, seen in zip(trace.turns, shows(trace), strict=True):
        request, now = list(seen.messages), trace.times[turn - 1]
        common = shared(request, before)
        own = ends(request, sorted(set(seen.breakpoints))[-4:])
        # The end of an earlier request is looked for at most 20 blocks before a mark.
        found = [end for end in marks if end <= common and any(0 <= mark - end <= 20 for mark in own)]
        tools = seen.tools_tokens
        hit = first(request, max(found)) + tools if found else 0
        if (asked is not None and now - asked > 300) or hit < 1_024:
            hit = 0
        cost += 0.1 * hit + 1.25 * (tools + sum(map(tokens, request)) - hit)
        before, marks, asked = request, own, now
    assert replay.score.billed == pytest.approx(cost, abs=0.01)
    assert any(turn.cold for turn in replay.turns)
    warm = Recording(trace._replace(times=()), vendor=vendor).replay(shows)
    assert not any(turn.cold for turn in warm.turns)
    assert replay.score.whole > warm.score.whole


@pytest.mark.parametrize("budget", [3_000, 20_000])
def test_a_turn_that_shows_what_is_new_is_not_below_the_floor(budget):
    """Pages that are too large to be shown whole at first are the exception: they were never written whole."""
    trace = coding_session(4, 60)
    for policy in (pt.Paged(budget_tokens=budget), pt.Legacy(), pt.Reset(budget), pt.Incremental(budget)):
        shows = Deriving(policy, budget_tokens=budget)
        replay = Recording(trace).replay(shows)
        whole = 0
        heard = 0
        for at, (turn, seen) in enumerate(zip(trace.turns, shows(trace), strict=True)):
            if all(any(same(new, shown) for shown in seen.messages) for new in trace.messages[heard:turn]):
                whole += 1
                assert replay.turns[at].billed >= replay.turns[at].floor - 0.01
            heard = turn
        assert whole > 0.8 * len(trace.turns)
        if budget == 20_000:
            assert whole == len(trace.turns)
            assert replay.score.billed > replay.score.floor
