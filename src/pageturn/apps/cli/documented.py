"""A command that says how it is used: an example, what it prints with --json, and what its exit codes mean.

`--help`, docs/cli.md and the tests read it. `--json` and `--quiet` are the same options in every command that has them.
"""

from typing import Any, Final, get_args

import click

from pageturn.apps.cli.terminal import ACTS, JSON, QUIET

EXIT_CODES: Final = {
    "0": "done",
    "1": "an error, or what the command says of itself: nothing found, problems left",
    "2": "the command line is wrong",
}


class Documented(click.Command):
    """A command with an example and documented exit codes."""

    def __init__(
        self,
        *args: Any,
        example: str,
        prints: Any = None,
        acts: bool = False,
        fails: str = "",
        others: str = "",
        **kwargs: Any,
    ) -> None:
        """A command whose example is `pageturn {example}`.

        `prints` is the type of its result, which --json writes. A command that `acts` changes something, and prints nothing with
        --quiet. `fails` says when it exits with 1, in addition to errors; `others` says what any other code means.
        """
        super().__init__(*args, **kwargs)
        self.example, self.prints, self.acts, self.fails, self.others = example, prints, acts, fails, others
        if prints is not None:
            self.params += [_switch(JSON, "Print the result as one line of JSON: docs/cli.md has its fields.")]
            told = "Print nothing but errors." if acts else "Print only the result: no progress, hints or notices."
            self.params += [_switch(QUIET, told)]

    @property
    def printed(self) -> tuple[type, ...]:
        """The types of its result: one, or one of several; none without --json."""
        return get_args(self.prints) or (() if self.prints is None else (self.prints,))

    @property
    def exit_codes(self) -> dict[str, str]:
        """What each exit code means."""
        failed = f"{self.fails}, or an error" if self.fails else "an error"
        return {**EXIT_CODES, "1": failed, **({"others": self.others} if self.others else {})}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, about which `terminal` asks."""
        ctx.meta[ACTS] = self.acts
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's form
        """Write the example and the exit codes."""
        with formatter.section("Example"):
            formatter.write_text(f"pageturn {self.example}")
        codes = "; ".join(f"{code} {meaning}" for code, meaning in self.exit_codes.items())
        with formatter.section("Exit codes"):
            formatter.write_text(codes)


def _switch(name: str, told: str) -> click.Option:
    def remember(context: click.Context, _: click.Parameter, value: object) -> None:
        context.meta[name] = value

    return click.Option([f"--{name.partition('.')[2]}"], is_flag=True, expose_value=False, callback=remember, help=told)
