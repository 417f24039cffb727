"""What the events of a group's journal have in common; the events themselves and their union stand above it."""

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every event of a group has."""

    turn: str = ""
