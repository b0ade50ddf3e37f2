"""A report of replays, as its readers get it: a page, and pictures."""

import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import pageturn as pt
from pageturn.lab.report import report_of
from pageturn.lab.report.groups import groups
from pageturn.lab.results import Form, OracleGap, ReplayedTurn, Result, Score, read_results
from pageturn.values.model_prices import ModelPrice

EXAMPLE = Path(__file__).parent.parent / "example-results.jsonl"
SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def turn(tokens=100, billed=50.0, **fields):
    return ReplayedTurn(tokens=tokens, billed=billed, floor=10.0, refetched=0.0, **fields)


def score(**fields):
    return Score(**{"billed": 40.0, "whole": 100.0, "floor": 20.0, "demanded": 10, "covered": 8, "turns": 2, **fields})


def result(policy="paged", trace="one", budget=1_000, **fields):
    usual = {
        "source": "made",
        "counter": "chars/4",
        "vendor": "ideal-cache",
        "score": score(),
        "turns": (turn(), turn()),
    }
    return Result(trace=trace, policy=policy, budget_tokens=budget, **{**usual, **fields})


def every_text(report):
    return [report.html, *report.pictures.values()]


def words_of(svg):
    return [node.text for node in ET.fromstring(svg).iter(f"{SVG}text")]


def tips_of(svg):
    return [node.text for node in ET.fromstring(svg).iter(f"{SVG}title")]


def assert_is_sound(svg):
    """Well formed, and all that is drawn has a place inside."""
    root = ET.fromstring(svg)
    left, top, width, height = map(float, root.get("viewBox").split())
    for node in root.iter():
        for name in ("x", "x1", "x2", "cx", "y", "y1", "y2", "cy", "width", "height", "r"):
            value = node.get(name)
            if value is None:
                continue
            assert math.isfinite(float(value))
            if name in ("x1", "x2", "cx") and node.get("class") != "lead thin":
                assert left <= float(value) <= left + width, (name, value)
            if name in ("y1", "y2", "cy") and node.get("class") != "lead thin":
                assert top <= float(value) <= top + height, (name, value)
            if name in ("width", "height", "r"):
                assert float(value) >= 0
        for step in re.split("[MLZ]", node.get("d", "")):
            if step:
                x, y = map(float, step.split())
                assert left - 1 <= x <= left + width + 1
                assert top - 1 <= y <= top + height + 1


class Tags(HTMLParser):
    """What a browser would make of a page: its elements, and the text outside of script and style."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.text.append(data)


# -- what is in it


def test_the_report_of_a_replay_has_all_figures_and_names_every_policy():
    results = list(read_results(EXAMPLE))
    gap = OracleGap(lookahead=3, missed=5, oracle_missed=3, bound=1)
    report = report_of([msgspec.structs.replace(each, oracle=gap) for each in results])
    assert set(report.pictures) == {"cost-coverage", "oracle-gap", "residency", "spending", "faults"}
    for picture in report.pictures.values():
        assert_is_sound(picture)
    page = Tags(report.html)
    assert page.open == []
    assert sum(tag == "svg" for tag, _ in page.tags) == 2 * 5, "one for wide screens, one for narrow ones"
    for policy in {each.policy for each in results}:
        assert page.text.count(policy) >= 1
        assert policy in words_of(report.pictures["cost-coverage"])


def test_the_same_results_give_the_same_bytes_in_every_process():
    program = (
        "import sys; from pathlib import Path; from hashlib import sha256\n"
        "from pageturn.lab.report import report_of; from pageturn.lab.results import read_results\n"
        "report = report_of(read_results(Path(sys.argv[1])))\n"
        "print(sha256(repr(report).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program, str(EXAMPLE)],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_nothing_is_fetched_from_elsewhere():
    report = report_of(read_results(EXAMPLE))
    assert "://" not in report.html
    assert "default-src 'none'" in report.html
    assert not any({"src", "href"} & set(attributes) for _, attributes in Tags(report.html).tags)
    for picture in report.pictures.values():
        assert re.findall(r"\w+://[^\"<]*", picture) == ["http://www.w3.org/2000/svg"]


def test_names_are_text_whatever_stands_in_them():
    nasty = "</script><script>alert(1)</script> & \"'\x00\x1b\ufffe 日本語 \u202e"
    fields = {"source": nasty, "counter": nasty, "vendor": nasty, "faults": {nasty: 1}}
    turns = (turn(faults={nasty: 2}, missed=(nasty,)), turn())
    report = report_of([result(policy=nasty, trace=nasty, turns=turns, **fields)])
    page = Tags(report.html)
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert any("<script>alert(1)</script> & \"'��" in text for text in page.text)
    for picture in report.pictures.values():
        assert not list(ET.fromstring(picture).iter(f"{SVG}script"))
        assert_is_sound(picture)


# -- what it says


def test_the_front_is_what_nobody_beats():
    rows = {"cheap": (10, 5), "beaten": (30, 5), "good": (20, 9), "dear": (90, 10), "worse": (95, 9)}
    results = [result(policy=name, score=score(billed=bill, covered=seen)) for name, (bill, seen) in rows.items()]
    assert [row.policy for row in groups(results)[0].front] == ["cheap", "good", "dear"]
    report = report_of(results)
    assert "cheap at 1k tokens (0.1×, 50 %), good at" in ET.fromstring(report.pictures["cost-coverage"]).get(
        "aria-label"
    )
    assert Tags(report.html).text.count("on the front") == 3


def test_rows_pool_their_sessions_and_say_how_sure_they_are():
    parts = [result(trace=f"s{at}", score=score(billed=at * 10.0, covered=at)) for at in range(1, 10)]
    (group,) = groups(parts)
    (row,) = group.rows
    assert row.bill.value == pytest.approx(sum(range(10, 100, 10)) / 900)
    assert row.bill.low < row.bill.value < row.bill.high
    assert row.coverage.value == pytest.approx(0.5)
    tip = next(tip for tip in tips_of(report_of(parts).pictures["cost-coverage"]) if tip.startswith("paged"))
    assert re.search(r"bill 0\.5× \[0\.\d+×, 0\.\d+×\]", tip)
    assert "9 sessions" in tip


def test_one_session_has_no_bars():
    report = report_of([result()])
    assert "gives no confidence intervals" in report.html
    assert any("bill 0.4× of sending everything" in tip for tip in tips_of(report.pictures["cost-coverage"]))


def test_what_cannot_be_compared_is_in_groups_of_its_own():
    report = report_of([result(), result(vendor="a/b"), result(counter="exact")])
    assert sum(tag == "h2" for tag, _ in Tags(report.html).tags) == 3
    assert len(report.pictures) == 3 * 4
    assert "2-chars-4-a-b-residency" in report.pictures


def test_sessions_of_one_name_from_two_sources_are_two():
    results = [result(), result(source="other", turns=(turn(), turn(), turn()), score=score(turns=3))]
    (group,) = groups(results)
    assert len(group.sessions) == 2
    assert group.rows[0].score.turns == 5
    assert [each.source for each in group.example()] == ["other"], "the longer one, and only that"


def test_rows_of_different_sessions_are_told():
    uneven = report_of([result(), result(policy="reset"), result(trace="two")])
    assert "Not every row has all sessions" in uneven.html
    assert "Not every row has all sessions" not in report_of([result(), result(policy="reset")]).html


def test_a_result_that_comes_twice_counts_once_and_two_that_differ_are_refused():
    (group,) = groups([result(), result()])
    assert group.rows[0].score.turns == 2
    with pytest.raises(pt.InvalidInput, match="one result of one under paged at 1,000 tokens"):
        groups([result(), result(score=score(billed=41.0))])


def test_the_gap_to_the_oracle_is_in_points_of_what_was_demanded():
    gap = OracleGap(lookahead=3, missed=2, oracle_missed=1, bound=0)
    picture = report_of([result(oracle=gap), result(policy="reset", trace="one")]).pictures["oracle-gap"]
    assert "+10.0" in words_of(picture)
    assert "reset" not in words_of(picture), "it was not compared"
    without = report_of([result()])
    assert "oracle-gap" not in without.pictures
    assert "No plot of the gap to the oracle" in without.html


def test_who_sent_nothing_is_not_on_the_front():
    nothing = result(policy="legacy", score=score(billed=0.0, covered=0, refused=2))
    assert [row.policy for row in groups([nothing, result()])[0].front] == ["paged"]
    assert [row.policy for row in groups([nothing])[0].front] == []
    assert_is_sound(report_of([nothing]).pictures["cost-coverage"])


def test_who_knows_the_future_is_drawn_and_never_on_the_front():
    foreseen = result(policy="oracle", score=score(billed=1.0, covered=10), settings={"policy": "oracle_replay"})
    gap = OracleGap(lookahead=3, missed=2, oracle_missed=0, bound=0)
    results = [result(oracle=gap), msgspec.structs.replace(foreseen, oracle=gap)]
    assert [row.policy for row in groups(results)[0].front] == ["paged"]
    report = report_of(results)
    assert "knows the future" in Tags(report.html).text
    assert "oracle" in words_of(report.pictures["cost-coverage"])
    assert "oracle" not in words_of(report.pictures["oracle-gap"])


def test_the_flip_rule_is_told_where_there_is_something_to_flip():
    ours = [result(settings={"policy": "paged"}), result(policy="legacy", settings={"policy": "legacy"})]
    assert "flip rule elects is legacy: no other policy beats it" in report_of(ours).html
    cheaper = [msgspec.structs.replace(ours[0], score=score(billed=10.0)), ours[1]]
    assert "flip rule elects is paged: it is the cheapest that beats legacy" in report_of(cheaper).html
    assert "flip rule" not in report_of([result()]).html


# -- what is drawn turn by turn


def test_requests_are_drawn_by_level():
    forms = {Form.FULL: 700, Form.STRUCTURED: 200, Form.LINE: 60}
    picture = report_of([result(turns=(turn(1_000, forms=forms, folded=True),) * 3)]).pictures["residency"]
    assert {"full", "structured", "index lines", "budget", "3 folds"} <= set(words_of(picture))
    assert not {"compressed", "pointers"} & set(words_of(picture))
    told = "turn 2, folded\n1,000 tokens\nfull 700\nstructured 200\nindex lines 60\nnot pages 40"
    assert told in tips_of(picture)


def test_one_that_does_not_keep_the_budget_has_a_scale_of_its_own():
    report = report_of([result(turns=(turn(900),) * 2), result(policy="all", turns=(turn(90_000),) * 2)])
    assert "another scale, 0 folds" in words_of(report.pictures["residency"])
    assert {"500", "50k"} <= set(words_of(report.pictures["residency"]))


def test_the_bill_so_far_ends_at_the_bill_between_its_two_ends():
    turns = (turn(billed=30.0), turn(billed=12.0))
    picture = report_of([result(turns=turns, score=score(whole=2_500.0))]).pictures["spending"]
    assert {"paged 42", "least possible 20", "sending everything 2.5k"} <= set(words_of(picture))
    assert "until turn 1\nsending everything 2,500\npaged 30\nleast possible 10" in tips_of(picture)


def test_sending_everything_is_a_curve_where_it_was_replayed():
    everything = result(policy="all", score=score(billed=100.0), turns=(turn(billed=40.0), turn(billed=60.0)))
    picture = report_of([result(), everything]).pictures["spending"]
    assert "until turn 1\npaged 50\nsending everything 40\nleast possible 10" in tips_of(picture)
    assert not any(words.startswith("all ") for words in words_of(picture)), "it is not drawn twice"


def test_sending_everything_is_a_curve_where_the_turns_tell_it():
    turns = (turn(billed=30.0, whole=40.0), turn(billed=12.0, whole=60.0))
    picture = report_of([result(turns=turns)]).pictures["spending"]
    assert "until turn 1\nsending everything 40\npaged 30\nleast possible 10" in tips_of(picture)
    assert "until turn 2\nsending everything 100\npaged 42\nleast possible 20" in tips_of(picture)


def test_faults_stand_at_their_turns():
    turns = (turn(), turn(faults={"refetch": 2}, missed=("a_b", "c_d")), turn(refused=True))
    picture = report_of([result(turns=turns), result(policy="calm")]).pictures["faults"]
    assert {"refetch", "refused", "names missed", "nothing"} <= set(words_of(picture))
    assert "paged\nturn 2: refetch 2" in tips_of(picture)
    assert "paged\nturn 3: refused 1" in tips_of(picture)


def test_the_longest_session_at_the_middle_budget_is_drawn_or_the_one_that_is_named():
    long = tuple(turn() for _ in range(9))
    results = [
        result(trace=trace, budget=budget, turns=long if trace == "b" else (turn(),))
        for trace in "abc"
        for budget in (1_000, 2_000, 4_000)
    ]
    assert "b, 9 turns, at 2,000 tokens" in report_of(results).html
    assert "c, 1 turns, at 4,000 tokens" in report_of(results, session="c", budget_tokens=4_000).html
    with pytest.raises(pt.InvalidInput, match="session: expected one of a, b, c, got 'z'"):
        report_of(results, session="z")
    with pytest.raises(pt.InvalidInput, match="budget: expected one of 1000, 2000, 4000, got 3"):
        report_of(results, budget_tokens=3)


def test_results_without_turns_say_so():
    report = report_of([result(turns=())])
    assert set(report.pictures) == {"cost-coverage"}
    assert "the results have no turns" in report.html


def test_thousands_of_turns_are_thinned_and_their_extremes_stay():
    turns = [
        turn(5_000 + at % 7, forms={Form.FULL: 5_000}, missed=("name_a",) if at % 3 else ()) for at in range(8_000)
    ]
    turns[4_321] = turn(9_000, forms={Form.FULL: 9_000})
    turns[6_789] = turn(40, forms={Form.FULL: 40})
    report = report_of([result(budget=9_500, turns=tuple(turns))])
    assert all(len(picture) < 150_000 for picture in report.pictures.values())
    picture = report.pictures["residency"]
    assert any(tip.startswith("turn 4,322\n9,000 tokens") for tip in tips_of(picture))
    full = next(node for node in ET.fromstring(picture).iter(f"{SVG}path") if node.get("class") == "full")
    outline = [float(step.split()[1]) for step in re.split("[MLZ]", full.get("d")) if step]
    upper = outline[: len(outline) // 2]
    assert len(upper) <= 420
    base, usual = max(outline), sorted(upper)[len(upper) // 2]
    assert (base - min(upper)) / (base - usual) == pytest.approx(9_000 / 5_006, rel=0.01)
    assert (base - max(upper)) / (base - usual) == pytest.approx(40 / 5_006, rel=0.5)


# -- whatever comes

COUNTS = st.integers(0, 50)
COSTS = st.one_of(st.just(0.0), st.floats(0.0001, 1e9))


@st.composite
def replayed_turns(draw):
    forms = draw(st.dictionaries(st.sampled_from(Form), st.integers(0, 10**6), max_size=6))
    return ReplayedTurn(
        tokens=sum(forms.values()),
        billed=draw(COSTS),
        floor=draw(COSTS),
        refetched=0.0,
        missed=tuple(f"name_{at}" for at in range(draw(st.integers(0, 3)))),
        folded=draw(st.booleans()),
        refused=draw(st.booleans()),
        forms=forms,
        faults=draw(st.dictionaries(st.sampled_from(["refetch", "no_match"]), st.integers(0, 9), max_size=2)),
    )


@st.composite
def any_results(draw):
    results = []
    for trace in "abc"[: draw(st.integers(1, 3))]:
        whole, floor, demanded = draw(COSTS), draw(COSTS), draw(COUNTS)
        length = draw(st.integers(0, 5))
        for policy in draw(
            st.sets(st.sampled_from(["paged", "legacy", "a name that is rather long", "x"]), min_size=1)
        ):
            for budget in draw(st.sets(st.sampled_from([0, 1, 8_000]), min_size=1)):
                covered = draw(st.integers(0, demanded))
                missed = demanded - covered
                made = score(billed=draw(COSTS), whole=whole, floor=floor, demanded=demanded, covered=covered)
                gap = OracleGap(lookahead=3, missed=missed, oracle_missed=draw(st.integers(0, missed)), bound=0)
                turns = tuple(draw(replayed_turns()) for _ in range(length))
                results.append(
                    result(policy, trace, budget, score=made, turns=turns, oracle=draw(st.none() | st.just(gap)))
                )
    return results


@example([result(score=score(billed=0.0, whole=0.0, demanded=0, covered=0))])
@example([result(score=score(billed=1.0, whole=3e8)), result(policy="x", score=score(billed=3e8, whole=3e8))])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(any_results())
def test_whatever_the_results_are_the_drawings_are_sound(results):
    report = report_of(results)
    for picture in report.pictures.values():
        assert_is_sound(picture)
    assert Tags(report.html).open == []
    for text in every_text(report):
        assert not re.search(r"\b(nan|inf)\b", text)


# -- what it costs


def test_the_table_has_the_columns_of_the_terminal_and_dollars_beside_the_ratios():
    paid = score(judged=2, fetching=10.0, output=50.0)
    report = report_of(
        [result(score=paid), result(policy="everything", score=score(judged=2, billed=100.0, output=50.0))]
    )
    page = Tags(report.html)
    at = page.text.index("priced bill")
    assert [text for text in page.text[at:] if text.strip()][:7] == [
        "priced bill",
        "dollars",
        "bill",
        "coverage",
        "verbatim",
        "turns that miss",
        "folds",
    ]
    # 100 and 150 tokens at two dollars a million
    assert "$0.00020" in page.text
    assert "of $0.00030" in page.text
    assert any("claude-sonnet-5, $2 in, $10 out" in text for text in page.text)


def test_a_price_that_nobody_knows_is_said_to_be_unknown():
    page = Tags(report_of([result(vendor="openai", score=score(judged=2))]).html)
    assert any("price unknown, give --model or --price" in text for text in page.text)
    assert not any("$" in text for text in page.text)
    priced = Tags(
        report_of([result(vendor="mine", price=ModelPrice("mine", 1_000.0, 2.0, 1.0, 1.0), score=score(judged=2))]).html
    )
    assert "$0.040" in priced.text
