"""The bills of a session, and of the two ways beside it, are those that the lab works out message by message."""

from itertools import pairwise

import pytest

import pageturn as pt
from pageturn.apps.inspector.bills import bills_of, vendor_for
from pageturn.apps.inspector.opened import Opened, Place
from pageturn.lab.baselines import everything, keep_last
from pageturn.lab.billing import Sent, cached
from pageturn.lab.traces import Trace
from pageturn.values.vendors import IDEAL_CACHE
from tests.apps.inspector.stores import agent, as_reported, work
from tests.sessions import open_session

MODEL = "a-model-without-a-price"


def plain(file, turns=24):
    """A session that nobody derived: every turn was sent all of the history."""
    with open_session(file, id="s", model=MODEL) as session:
        session.append(pt.system("You are a coding agent."))
        session.append(pt.user("Mend the login."))
        for number in range(turns):
            session.append(pt.user(f"Step {number}: " + "look again " * (10 + 37 * (number % 5))))
            session.append(pt.assistant(f"Done {number}. " * 20))


@pytest.mark.parametrize("trim", [300, 900, 10**6])
def test_everything_and_a_rolling_trim_are_billed_as_the_lab_does_it(tmp_path, trim):
    plain(tmp_path / "a.db")
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("s")
        pages = looked.reader.pages()
        sizes = {page.id: page.tokens for page in pages}
        trace = Trace("s", "test", tuple(looked.reader.message(page) for page in pages))
        ways = {"everything": everything(trace), "trim": keep_last(trim, lambda message: sizes[message.id])(trace)}
        vendor = IDEAL_CACHE
        bills = bills_of(looked.history, trim, vendor)
        for name, requests in ways.items():
            before = []
            for bill, messages in zip(getattr(bills, name), requests, strict=True):
                now = [Sent(message.id, sizes[message.id]) for message in messages]
                hit = cached(now, before)
                total = sum(each.tokens for each in now)
                assert (bill.cached, bill.input) == (hit, total)
                assert bill.cost == pytest.approx(0.1 * hit + 1.25 * (total - hit) + 5 * bill.output, abs=0.1)
                before = now


def test_what_the_provider_reported_is_what_the_price_makes_of_it(kept, opened):
    looked = opened.session("login-bug")
    bills = bills_of(looked.history, 4_000)
    price = pt.values.model_prices.price_of("claude-sonnet-5")
    for bill, context in zip(bills.sent, kept.contexts, strict=True):
        usage = as_reported(context)
        assert (bill.input, bill.cached, bill.written) == (
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        )
        assert price.of_input(bill.cost) == pytest.approx(price.dollars(usage), rel=1e-3)
    assert all(bills.is_reported)


def test_without_a_report_the_cache_has_the_context_before_and_a_fold_is_written_anew(tmp_path):
    contexts = agent(tmp_path / "a.db", usage=None)
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        bills = bills_of(opened.session("login-bug").history, 4_000)
    assert not any(bills.is_reported)
    assert [bill.input for bill in bills.sent] == [context.tokens for context in contexts]
    for (before, now), (_, bill) in zip(pairwise(contexts), pairwise(bills.sent), strict=True):
        if now.fold is None:
            expected = before.tokens if before.tokens >= 1_024 else 0
            assert bill.cached == expected
        else:
            assert bill.written >= now.fold.cost.rewritten_tokens


def test_a_pause_longer_than_the_cache_lasts_is_billed_cold(tmp_path):
    with open_session(tmp_path / "a.db", id="s", model="claude-sonnet-5") as session:
        session.append(pt.user("Mend the login. " * 400))
        work(session, 3, usage=None)
    with Opened(Place(str(tmp_path / "a.db"))) as opened:
        looked = opened.session("s")
        warm = bills_of(looked.history, 4_000)
        cold = bills_of(looked.history, 4_000, vendor_for("claude-sonnet-5")._replace(ttl_seconds=0.0))
    assert warm.everything[-1].cached > 0
    assert cold.everything[-1].cached == cold.sent[-1].cached == 0
