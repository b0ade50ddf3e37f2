"""Detects what a question asks for: whose words, what holds now, and whether a person's standing preferences matter.

Fitted on questions about long chats. The lists are short and in English; any other question is searched normally.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_OF_THE_ASSISTANT = re.compile(
    r"\b(?:did you|you (?:recommend|suggest|advis|propos|mention|said|told|explain|provid|g[ai]v)\w*"
    r"|your (?:advice|answer|recommendation|suggestion)s?|summar\w+|overview|recap)\b",
    re.IGNORECASE,
)
_OF_THE_PAST = re.compile(
    r"\s*(?:how (?:many|much|long|often)|have (?:i|we)|did (?:i|we|you)|when (?:did|was|were)|what did|which did"
    r"|can you (?:list|walk|summ\w+))\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\b(?:always|never|prefer\w*|from now on|whenever|when i ask|rather than|i(?:'d| would) rather|i like to|i want you to)\b",
    re.IGNORECASE,
)
_LATEST = re.compile(
    r"\b(?:latest|newest|current(?:ly)?|now(?:adays)?|most recent(?:ly)?|up[- ]to[- ]date|at the moment|these days)\b",
    re.IGNORECASE,
)


class Aims(NamedTuple):
    """What a question asks for."""

    prefers_people: bool  # a person's words score higher: most questions are about what somebody wanted or said
    wants_wishes: bool  # standing preferences score higher: the question is about something to do
    wants_latest: bool  # what holds now: of pages that answer about equally well, the newest come first


@lru_cache(maxsize=64)
def aims_of(question: str) -> Aims:
    """What a question asks for."""
    is_past = _OF_THE_PAST.match(question) is not None
    return Aims(_OF_THE_ASSISTANT.search(question) is None, not is_past, _LATEST.search(question) is not None)


def is_wish(text: str) -> bool:
    """Whether a person's words say how something should always be done."""
    return _WISH.search(text) is not None
