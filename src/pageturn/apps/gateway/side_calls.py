"""Shortens side calls, such as one for a title, if the provider found them too long."""

import logging

from pageturn.apps.gateway.derived import PLAIN, with_context
from pageturn.apps.gateway.items import load_items
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.modes import Send
from pageturn.apps.gateway.reasons import why_failed
from pageturn.session import Session
from pageturn.values.errors import PageturnError
from pageturn.values.messages import system

_LOG = logging.getLogger("pageturn.gateway")


def shortened(request: ModelRequest, body: bytes) -> Send | None:
    """What to send instead of a side call that was too long: a history of its own, which is not stored."""
    messages = load_items(request.format, request.raws)
    try:
        with Session.open(model=request.model, recall=None) as session:
            session.extend([system(request.system)] if request.system else [])
            session.extend(messages)
            session.derive(request.tools, model=request.model)
            if not session.overflow(body):
                return None
            context = session.derive(request.tools, model=request.model)
            made = with_context(request, context, None)
    except (PageturnError, OSError) as error:
        _LOG.warning("a prompt that was too long was not shortened (%s)", why_failed(error))
        return None
    return Send(made.body, f"aside; shortened; sent={context.tokens}", PLAIN)
