"""Messages in the form that a vendor's model takes."""

from pageturn.values.prompt import Prompt


def dump_for(vendor, messages, model):
    """What `dump` makes of messages for a model; nothing stands behind the last of them."""
    request = vendor.dump(Prompt(messages=tuple(messages), model=model, vendor=vendor.VENDOR))
    assert request.pop("model", None) == model
    return request
