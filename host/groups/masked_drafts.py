"""Drafts without secrets: each attempt's text passes a masking stream before watchers see it (MASK-1)."""

from host.groups.drafts import Drafts
from host.vault.masking import Masker, MaskStream


class MaskedDrafts:
    """The draft sink of a lane's turns; belongs to the lane's thread."""

    def __init__(self, drafts: Drafts, masker: Masker) -> None:
        self._drafts = drafts
        self._masker = masker
        self._streams: dict[str, MaskStream] = {}

    def begin(self, turn: str, step: int) -> None:
        """An attempt at `step` begins; what an earlier attempt gave is void."""
        self._streams[turn] = self._masker.stream()
        self._drafts.begin(turn, step)

    def add(self, turn: str, step: int, text: str) -> None:
        """Pass on what is certain to hold no secret; the rest follows with later text, or in the final event."""
        stream = self._streams.get(turn)
        if stream is not None and (shown := stream.feed(text)):
            self._drafts.add(turn, step, shown)

    def end(self, turn: str) -> None:
        """The turn is over."""
        self._streams.pop(turn, None)
        self._drafts.end(turn)
