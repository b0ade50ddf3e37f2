"""Checks the candidates and the settings that callers give, each only once."""

from collections.abc import Iterable, Mapping, Sequence

from pageturn.routing import Setting
from pageturn.routing.skills import require_name, setting
from pageturn.values.errors import InvalidInput, show
from pageturn.values.messages import Message
from pageturn.values.relevance import bucket_for_messages

_MOST_SETTINGS = 1_000


class Arguments:
    """What was checked before, by what was given."""

    def __init__(self, skills: frozenset[str]) -> None:
        self._skills = skills
        self._agents: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._settings: dict[object, Setting] = {}

    def agents(self, candidates: Iterable[str], local: str | None) -> tuple[str, ...]:
        """The names of the candidates, each once, and the local agent among them."""
        given = names_of(candidates) if local is None else (*names_of(candidates), local)
        if not given:
            raise InvalidInput("candidates", expected="at least one name", got="none")
        try:
            agents = self._agents.get(given)
        except TypeError:  # an object that is not even hashable
            agents = None
        if agents is None:
            for agent in given:
                require_name("candidates", agent)
            agents = tuple(dict.fromkeys(map(str.__str__, given)))  # plain text, also of enums and arrays
            if len(self._agents) >= _MOST_SETTINGS:
                self._agents.clear()
            self._agents[given] = agents
        return agents

    def setting(self, skill: str, bucket: object, messages: Sequence[Message] | None) -> Setting:
        """The skill of a task and its bucket: as given, divided by axes, or derived from messages."""
        if messages is not None and bucket is not None:
            raise InvalidInput("bucket", expected="a bucket or messages", got="both")
        given = messages if messages is not None else bucket
        if isinstance(given, list | tuple):
            if not all(isinstance(each, Message) for each in given):
                raise InvalidInput("bucket", expected="a Bucket, axes by name, a text, or messages", got=show(given))
            given = bucket_for_messages(given)
        key = (skill, tuple(given.items()) if isinstance(given, dict) else given)
        try:
            where = self._settings.get(key)
        except TypeError:  # what is not hashable is checked each time
            return setting(skill, given, self._skills)  # type: ignore[arg-type]
        if where is None:
            where = setting(skill, given, self._skills)  # type: ignore[arg-type]  # it refuses what is none of its types
            self._settings = {**self._settings, key: where} if len(self._settings) < _MOST_SETTINGS else {key: where}
        return where


def names_of(candidates: Iterable[str]) -> tuple[str, ...]:
    """The names as a tuple; a set is an error, because the first of equals is chosen, and a set has no first."""
    if isinstance(candidates, str | bytes | set | frozenset | Mapping) or not isinstance(candidates, Iterable):
        raise InvalidInput("candidates", expected="names in an order", got=show(candidates))
    return tuple(candidates)
