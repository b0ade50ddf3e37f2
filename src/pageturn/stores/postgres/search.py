"""Searches the passages of sessions by PostgreSQL's full text, ranked as nearly as it can as SQLite's BM25 ranks.

Each term weighs by how rare it is in what is searched. How often it occurs in a passage counts by `ts_rank` of the term alone, which
grows and levels off as BM25's does; then a long passage counts less. `ts_rank_cd` of the whole query knows no rare words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest
from math import log
from typing import Any, NamedTuple

from pageturn.stores.ports import LAST, Document, Found
from pageturn.stores.postgres import words
from pageturn.stores.postgres.connections import Row, Statement
from pageturn.stores.words import COMMON, candidates, is_beginning, searched_words

_WEIGHTS = "'{.5, .5, .5, 1}'"  # of the parts that are hidden in words, and of words
_USUAL_LENGTH = 40.0  # different words of a passage; passages are cut to a usual length, so the average is not counted
_PASSAGES_A_RECORD = 3  # matching passages per record on average; if there are more, the query runs again

_SEARCHED = "unnest(%(numbers)s::bigint[], %(uptos)s::bigint[]) AS searched(number, upto)"
_WITHIN = "JOIN searched ON searched.number = p.session AND p.seq <= searched.upto"
# The queries as PostgreSQL reads them, each with how many passages it matches, counted up to a limit.
_COUNTED = f"""
WITH searched AS MATERIALIZED (SELECT * FROM {_SEARCHED})
SELECT asked::text, (SELECT count(*) FROM (
    SELECT 1 FROM (
        SELECT session, seq FROM pageturn.passages
        WHERE session = ANY(%(numbers)s::bigint[]) AND words @@ (%(scope)s::tsquery && asked) OFFSET 0
    ) p {_WITHIN} LIMIT %(most)s
) found)
FROM unnest(%(phrases)s::text[], %(beginnings)s::bool[]) WITH ORDINALITY AS given(phrase, is_beginning, place),
LATERAL (SELECT {words.ASKED} AS asked) q ORDER BY place
"""
_ENTRIES = f"SELECT sum(least(head, upto) - parent_seq) FROM pageturn.sessions s JOIN {_SEARCHED} USING (number)"
_RANKED = f"""
WITH searched AS MATERIALIZED (SELECT * FROM {_SEARCHED})
SELECT p.session, p.seq, p.cut, p.score FROM (
    SELECT session, seq, cut, ({{score}}) / (.25 + .75 * length(words) / {_USUAL_LENGTH} + .83) AS score
    FROM pageturn.passages WHERE session = ANY(%(numbers)s::bigint[]) AND words @@ %(query)s::tsquery OFFSET 0
) p {_WITHIN} ORDER BY score DESC, p.seq DESC, p.cut LIMIT %(most)s
"""

_ADD = f"""
INSERT INTO pageturn.passages SELECT number, seq, cut, {words.INDEXED}
FROM (SELECT %(number)s::bigint AS number) s,
unnest(%(documents)b::bigint[], %(cuts)b::bigint[], %(texts)b::text[], %(parts)b::text[]) AS given(seq, cut, text, parts)
WHERE NOT EXISTS (SELECT FROM pageturn.losses l WHERE l.session = s.number AND l.seq = given.seq) ON CONFLICT DO NOTHING
"""
_DIFFERENT = f"""
SELECT count(*) FROM (
    SELECT seq, cut, {words.INDEXED} AS words FROM (SELECT %(number)s::bigint AS number) s,
    unnest(%(documents)b::bigint[], %(cuts)b::bigint[], %(texts)b::text[], %(parts)b::text[]) AS given(seq, cut, text, parts)
) made FULL JOIN (
    SELECT seq, cut, words FROM pageturn.passages WHERE session = %(number)s AND seq = ANY(%(documents)b::bigint[])
) kept USING (seq, cut) WHERE made.words IS DISTINCT FROM kept.words
"""
DOCUMENTS = "SELECT DISTINCT seq FROM pageturn.passages WHERE session = %s"

Read = Callable[..., list[list[Row]]]


class Searched(NamedTuple):
    """A session that is searched: its name, its number in the database, and the number of its last record."""

    session: str
    number: int
    upto: int


def search(read: Read, searched: Sequence[Searched], query: str, limit: int, *, every: bool) -> list[Found]:
    """The best matches: each record with its best passage; `every` also searches for common words."""
    asked = candidates(query)
    if not (asked and searched):
        return []
    names = {each.number: each.session for each in searched}
    scope = " | ".join(f"'@{number}'" for number in names)
    bounds = {"numbers": [*names], "uptos": [min(each.upto, LAST) for each in searched]}
    phrases = [words.plain(word) for word in asked]
    beginnings = [is_beginning(word) for word in asked]
    values = bounds | {"scope": scope, "most": COMMON + 1, "phrases": phrases, "beginnings": beginnings}
    counted, ((entries,),) = read(Statement(_COUNTED, values), Statement(_ENTRIES, bounds))
    counts = {word: count for word, (_, count) in zip(asked, counted, strict=True)}
    queries = {word: text for word, (text, _) in zip(asked, counted, strict=True)}
    wanted = searched_words(query, counts.__getitem__, every=every)
    weighed = {
        queries[word]: times * _rarity(counts[word], int(entries or 0))
        for word, times in wanted.items()
        if counts[word]
    }
    if not weighed:
        return []
    sql = _RANKED.format(score=_score(weighed))
    values = bounds | _placed(weighed) | {"query": _any_of(weighed, scope)}
    most = limit * _PASSAGES_A_RECORD
    while True:
        (rows,) = read(Statement(sql, values | {"most": most}))
        best = _best(rows, names)
        if len(best) >= limit or len(rows) < most:
            return nlargest(limit, best, key=lambda found: found.score)
        most *= 4


def _rarity(having: int, entries: int) -> float:
    """The weight of a term that this many passages have: the inverse document frequency."""
    return log(1 + (max(entries - having, 0) + 0.5) / (having + 0.5))


def _score(weighed: Mapping[str, float]) -> str:
    """The score of a passage in SQL: the sum of what each query that it matches counts."""
    scores = []
    for place, query in enumerate(weighed):
        score = f"%(weight{place})s::float8 * ts_rank({_WEIGHTS}, words, %(query{place})s::tsquery)"
        is_phrase = "<" in query  # `ts_rank` counts the words of a phrase that are apart, too
        scores.append(f"CASE WHEN words @@ %(query{place})s::tsquery THEN {score} ELSE 0 END" if is_phrase else score)
    return " + ".join(scores)


def _placed(weighed: Mapping[str, float]) -> dict[str, Any]:
    """The values of that score."""
    queries = {f"query{place}": query for place, query in enumerate(weighed)}
    return queries | {f"weight{place}": weight for place, weight in enumerate(weighed.values())}


def _any_of(queries: Iterable[str], scope: str) -> str:
    return f"({scope}) & ({' | '.join(f'({query})' for query in queries)})"


def _best(rows: Sequence[Row], names: Mapping[int, str]) -> list[Found]:
    """The records of these passages, given best first; each with its best passage."""
    best: dict[tuple[int, int], Found] = {}
    for number, seq, cut, score in rows:
        best.setdefault((number, seq), Found(names[number], seq, score, cut))
    return [*best.values()]


def added(number: int, documents: Sequence[Document]) -> Statement:
    """Indexes documents of a session, except those that lost their words to an erasure."""
    return Statement(_ADD, _columns(number, documents))


def different(number: int, documents: Sequence[Document]) -> Statement:
    """Counts the passages of these documents that the index has otherwise, or not at all."""
    return Statement(_DIFFERENT, _columns(number, documents))


def _columns(number: int, documents: Sequence[Document]) -> dict[str, Any]:
    columns = map(list, zip(*words.passages(documents), strict=True))
    return {"number": number, **dict(zip(("documents", "cuts", "texts", "parts"), columns, strict=True))}
