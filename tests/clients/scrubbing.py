"""Making a recorded request fit to be kept: the structure is the client's, the content is generated.

Long texts that are the client's own (prompts, descriptions of tools) keep their beginning, by which they are known, and lose the
rest; ids become numbers; folders of this machine vanish. The same text always becomes the same, so that histories stay histories.
"""

import re
from typing import Any

_KEPT = 120  # characters of a long text
_LONG = 200
_OURS = re.compile(r"PAGE \d+ OF|Begin with pages/|code\(|END OF")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RANDOM = re.compile(
    r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,64}\b|(?<=ses_)\w{20,}|(?<=cch=)\w+|(?<=cc_version=)[\w.]+"
)
_TIME = re.compile(r"\b1[5-9]\d{11}\b|\b1[5-9]\d{8}\.\d+\b")
_DATE = re.compile(r"\b20\d\d[-/]\d\d[-/]\d\d\b")


class Scrubber:
    """One recording: it remembers what became what."""

    def __init__(self, folders: dict[str, str]) -> None:
        self._folders = folders
        self._ids: dict[str, str] = {}

    def value(self, value: Any, key: str = "") -> Any:
        """A value of JSON, scrubbed through and through."""
        if isinstance(value, dict):
            return {name: self.value(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        return self.text(value) if isinstance(value, str) else _number(value, key)

    def text(self, text: str) -> str:
        """A text, scrubbed; what is long loses its end."""
        text = _DATE.sub("2026-01-01", self.header(text))
        return text if len(text) <= _LONG or _OURS.search(text) else _shortened(text)

    def header(self, text: str) -> str:
        """The same with everything that counts: dates are names of versions there."""
        for folder, name in self._folders.items():
            text = text.replace(folder, name)
        text = _UUID.sub(lambda found: self._id(found[0], "00000000-0000-4000-8000-{:012d}"), text)
        text = _RANDOM.sub(lambda found: self._id(found[0], "{:012d}"), text)
        return _TIME.sub("1700000000000", text)

    def _id(self, text: str, form: str) -> str:
        return self._ids.setdefault(text, form.format(len(self._ids) + 1))


def _number(value: Any, key: str) -> Any:
    return 1_700_000_000 if key in ("create_time", "turn_started_at_unix_ms") else value


def _shortened(text: str) -> str:
    end = text.rstrip()[-20:] if text.rstrip().endswith(">") else ""  # the tag that a reminder ends with
    return f"{text[:_KEPT]} ({len(text)} characters) {end}".rstrip()
