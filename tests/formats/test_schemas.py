"""What `dump` makes has the types that the vendors publish with their clients, over real sessions where they are there."""

import gzip
import json
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from pageturn.formats import anthropic, openai_chat
from tests.formats.test_round_trips import EXAMPLES, FORMATS
from tests.long import examples as number_of

DATA = Path(os.environ.get("PAGETURN_DATA", "../shared/data"))
TRACES = sorted((DATA / "traces").glob("*.jsonl.gz"))


def test_the_check_looks_all_the_way_down(checks):
    with pytest.raises(ValidationError):
        checks[anthropic]({"messages": [{"role": "user", "content": [{"type": "nonsense"}]}]})


@pytest.mark.parametrize("origin", FORMATS, ids=lambda vendor: f"from {vendor.VENDOR}")
def test_the_examples_have_the_published_types_with_every_vendor(checks, origin):
    messages = origin.load_request(EXAMPLES[origin]).messages
    for vendor, check in checks.items():
        check(vendor.dump(messages))


@pytest.mark.skipif(not TRACES, reason=f"no recorded sessions in {DATA / 'traces'}")
@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_recorded_sessions_have_the_published_types_and_come_back(checks, path):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        sessions = [
            json.loads(line)["messages"] for _, line in zip(range(number_of(2, whole=1_000)), lines, strict=False)
        ]
    for session in sessions:
        messages = openai_chat.load_messages(session)
        for vendor, check in checks.items():
            request = vendor.dump(messages)
            check(request)
            assert vendor.dump(vendor.load_request(request)) == request
