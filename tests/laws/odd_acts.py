"""Odd acts: what hosts do less often. They are put between the acts of a plot, drawn apart from it, so that a seed keeps its acts."""

import random
from dataclasses import replace

from tests.laws.acts import Act, Plot, plot

_SHARE = 0.25  # of the acts of a plot that an odd one follows
_MESSAGES = ("user", "system", "developer", "assistant", "no_user", "no_assistant", "two", "named", "document", "search",
             "only_thinking", "unsigned", "internal", "internal_reply", "same_id", "image")  # fmt: skip
_CALLS = ("bare", "twice", "twice_otherwise", "no_id", "long_id", "no_arguments", "list", "odd_name", "many")
_RESULTS = ("of_user", "beside_words", "in_one", "reversed", "words_between", "odd", "nothing", "image")
_PROMISES = ("pin", "pin", "plan", "prefer", "note", "set_system", "reset")
_WRITERS = ("undo", "choose", "plan", "reset", "reply")


def odd_plot(seed: int) -> Plot:
    """The session of a seed with odd acts in it."""
    made, rng = plot(seed), random.Random(f"odd {seed}")
    drawn = _Drawing(rng, seed)
    acts: list[Act] = []
    for act in made.acts:
        acts.append(act)
        while rng.random() < _SHARE:
            acts.append(drawn.act())
    return replace(made, acts=tuple(acts), is_odd=True)


class _Drawing:
    def __init__(self, rng: random.Random, seed: int) -> None:
        self._rng = rng
        self._salt = (seed + 10**6) * 10**6  # far from those of the plot

    def act(self) -> Act:
        rng = self._rng
        self._salt += 1_000
        given = {"salt": self._salt, "ref": rng.randrange(10_000)}
        lines = rng.choice((1, 5, 40))
        return rng.choice(
            (
                Act("odd_message", given | {"kind": rng.choice(_MESSAGES)}),
                Act("odd_call", given | {"kind": rng.choice(_CALLS)}),
                Act("odd_result", given | {"kind": rng.choice(_RESULTS), "lines": lines}),
                Act("odd_result", given | {"kind": rng.choice(_RESULTS), "lines": lines}),
                Act("orphan", given | {"lines": lines}),
                Act("odd_promise", given | {"kind": rng.choice(_PROMISES)}),
                Act("odd_promise", given | {"kind": rng.choice(_PROMISES)}),
                Act("rule_again", given | {"how": rng.choice(("pin", "pin_form", "system", "set_system", "user"))}),
                Act("task_log", given | {"forbids": rng.choice((0, 1, 3)), "clears": rng.random() < 0.3}),
                Act("fork_earlier", given),
                Act("reopen_as", given),
                Act("another_writes", given | {"does": rng.choice(_WRITERS)}),
            )
        )
