"""A model that says what a test tells it: a real HTTP server in a thread of its own, speaking both wire formats.

`/v1/chat/completions`, `/v1/messages` and `/v1/models`, streamed and whole, with keep-alive, so that the entire path
to a provider is exercised. It knows nothing of Elis. `python -m tests.scripted_model --script FILE.json` runs it alone.
"""

from tests.scripted_model.script import echo
from tests.scripted_model.server import Received, ScriptedModel
from tests.scripted_model.steps import Call, Drop, Fail, Gate, Hang, Reply, Rubbish, Step, Usage

__all__ = [
    "Call",
    "Drop",
    "Fail",
    "Gate",
    "Hang",
    "Received",
    "Reply",
    "Rubbish",
    "ScriptedModel",
    "Step",
    "Usage",
    "echo",
]
