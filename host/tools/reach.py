"""What commands of a back end reach beyond the machine, and so what becomes of hosts that a call names (BOX-6)."""

import enum


class Reach(enum.StrEnum):
    """How a back end's commands reach the world."""

    DOOR = "door"  # by the egress proxy alone, which can admit single hosts to single runs
    NOTHING = "nothing"  # not at all, and nothing can be admitted
    ANYTHING = "anything"  # whatever the machine that they run on reaches: no list of ours binds them
