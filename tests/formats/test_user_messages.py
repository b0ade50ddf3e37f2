"""Which user messages a harness wrote."""

import pytest

import pageturn as pt
from pageturn.formats import anthropic, gemini, openai_chat, openai_responses
from pageturn.formats.user_messages import OPENINGS, is_synthetic
from pageturn.values.messages import Text

FORMS = [
    lambda text: openai_chat.load_messages([{"role": "user", "content": text}])[0],
    lambda text: openai_responses.load_messages(
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]
    )[0],
    lambda text: anthropic.load_messages([{"role": "user", "content": text}])[0],
]


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_text_with_a_known_opening_is_the_harness_s(opening):
    for load in FORMS:
        assert load(f"\n{opening} and so on").synthetic
        assert not load(f"Why do I see {opening}?").synthetic


@pytest.mark.parametrize(
    ("text", "by_harness"),
    [
        ("<command-name>/exit</command-name>\n<command-args></command-args>", True),
        ("<command-name>/review</command-name>\n<command-args>the login module</command-args>", False),
        ("Base directory for this skill: /x\n\nDo it.", True),
        ("Base directory for this skill: /x\n\nDo it.\nARGUMENTS: the login module", False),
        ("continue", False),
        ("", False),
    ],
)
def test_a_command_with_words_of_the_person_is_the_person_s(text, by_harness):
    for load in FORMS:
        assert load(text).synthetic is by_harness


def test_one_part_by_the_person_makes_the_message_theirs():
    reminder, words = Text(text="<system-reminder>x</system-reminder>"), Text(text="Fix it.")
    assert is_synthetic([reminder])
    assert not is_synthetic([reminder, words])
    assert not is_synthetic([pt.Image(url="https://example.org/a.png")])


def test_only_users_are_mistaken_for_harnesses():
    assert not openai_chat.load_reply({"role": "assistant", "content": "<system-reminder>"}).synthetic
    assert not openai_chat.load_messages([{"role": "system", "content": "<system-reminder>"}])[0].synthetic


@pytest.mark.parametrize("vendor", [anthropic, openai_chat, openai_responses, gemini], ids=lambda each: each.VENDOR)
def test_a_reminder_beside_a_persons_sentence_is_marked_by_itself(vendor):
    reminder, words = "<system-reminder>Files changed.</system-reminder>", "Now fix the login."
    said = {
        anthropic: {"role": "user", "content": [{"type": "text", "text": reminder}, {"type": "text", "text": words}]},
        openai_chat: {"role": "user", "content": [{"type": "text", "text": reminder}, {"type": "text", "text": words}]},
        openai_responses: {
            "role": "user",
            "content": [{"type": "input_text", "text": reminder}, {"type": "input_text", "text": words}],
        },
        gemini: {"role": "user", "parts": [{"text": reminder}, {"text": words}]},
    }
    (message,) = vendor.load_messages([said[vendor]])
    assert not message.synthetic
    assert [part.synthetic for part in message.content] == [True, False]
    assert message.own_words == words
    (again,) = vendor.load_messages(
        vendor.dump([message])[{gemini: "contents", openai_responses: "input"}.get(vendor, "messages")]
    )
    assert again == message
    (alone,) = vendor.load_messages(
        [
            {
                **said[vendor],
                "parts" if vendor is gemini else "content": said[vendor]["parts" if vendor is gemini else "content"][
                    :1
                ],
            }
        ]
    )
    assert alone.synthetic
    assert not alone.content[0].synthetic
