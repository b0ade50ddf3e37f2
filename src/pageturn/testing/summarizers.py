"""Checks a summarizer: it has a name, and its texts pass writeback's checks for pages of any kind."""

from collections.abc import Callable

from pageturn.context.renditions.structured import PageMessage
from pageturn.testing.cases import Case, Suite, check_all, expect, expect_equal
from pageturn.testing.concurrency import in_threads
from pageturn.testing.fakes import WordCounter
from pageturn.testing.sessions import Script, open_session
from pageturn.values.entries import Committed
from pageturn.values.errors import SummaryFailed
from pageturn.values.messages import Message, ToolCall, assistant, tool_result, user
from pageturn.writeback.summaries.contract import Summarizer, SummaryRequest, require_summarizer
from pageturn.writeback.summaries.stop import Stop

MakeSummarizer = Callable[[], Summarizer]
"""Makes a summarizer; two that are made one after the other have the same name."""

SUITE = Suite[[MakeSummarizer]]("check_summarizer")
_TARGET, _LEAST = 120, 20
_MOST = 2 * _TARGET


def check_summarizer(make: MakeSummarizer, *, only: str | None = None) -> None:
    """Check a summarizer of your own: `check_summarizer(lambda: MySummarizer())`. Raises an `AssertionError` that says what fails.

    It is called about ten times. If it calls a model, use a scripted model unless you are willing to pay.
    """
    check_all(SUITE.runs(make), only)


def summarizer_cases() -> tuple[Case[[MakeSummarizer]], ...]:
    """The claims one by one, for `parametrize` (`ids=str`); in the test, call `case(make)`."""
    return SUITE.cases


@SUITE.claim
def it_has_a_name_that_stays(make: MakeSummarizer) -> None:
    summarizer = make()
    require_summarizer(summarizer)
    name = summarizer.name
    summarizer.summarize(_request(_turns(0, 6)))
    expect_equal((summarizer.name, make().name), (name, name), "its name later, and that of a second one")


@SUITE.claim
def its_text_passes_the_quality_check(make: MakeSummarizer) -> None:
    for pages in (_turns(0, 6), _turns(3, 30), [user("Please look at the token check. " * 30)]):
        request = _request(pages)
        text = make().summarize(request)
        expect(isinstance(text, str), expected="a text", got=text)
        flaw = request.flaw_of(text)
        expect(flaw is None, expected="a text that writeback admits", got=f"{flaw}: {text[:60]!r}")


@SUITE.claim
def its_text_is_about_as_long_as_was_asked(make: MakeSummarizer) -> None:
    request = _request(_turns(0, 30))
    tokens = request.count(make().summarize(request))
    expect(_LEAST <= tokens <= _MOST, expected=f"{_LEAST} to {_MOST} tokens where {_TARGET} were asked for", got=tokens)


@SUITE.claim
def it_stops_when_it_is_told_to(make: MakeSummarizer) -> None:
    stop = Stop()
    stop.set()

    def ask(request: SummaryRequest) -> None:
        try:
            make().summarize(request)
        except SummaryFailed:
            return

    in_threads(ask, [_request(_turns(0, 6), stop)])


@SUITE.claim
def a_session_takes_its_summaries(make: MakeSummarizer) -> None:
    session = open_session(summarizer=make())
    script = Script(session)
    for message in _turns(0, 20):
        script.say(message)
    assert session.summaries is not None, "a session with a summarizer prepares summaries"
    prepared = session.summaries.finish(timeout_seconds=60)
    admitted = [each for each in prepared if isinstance(each.outcome, Committed)]
    expect(bool(admitted), expected="a summary that writeback commits", got=[str(each.outcome) for each in prepared])
    session.close()


def _request(pages: list[Message], stop: Stop | None = None) -> SummaryRequest:
    messages = tuple(PageMessage(f"p{number}-abcd", message) for number, message in enumerate(pages, start=1))
    return SummaryRequest(messages, _TARGET, _LEAST, WordCounter().text, stop or Stop())


def _turns(first: int, last: int) -> list[Message]:
    """Turns of a question, a call and its result, with names of their own."""
    messages: list[Message] = []
    for number in range(first, last):
        path = f"src/shop/part_{number}.py"
        call = ToolCall(id=f"c{number}", name="read_file", arguments=f'{{"path": "{path}"}}')
        code = "\n".join(f"def check_token_{number}_{at}(token): return token.expires_at > now()" for at in range(9))
        messages += [
            user(f"Please look at part_{number} of the shop and say what it does with tokens.", synthetic=True),
            assistant(f"I read {path} first.", call),
            tool_result(call, code),
        ]
    return messages
