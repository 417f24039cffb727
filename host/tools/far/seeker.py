"""The process of a search at the far end: the one of home, which ends with the agent that started it."""

from host.tools import search_child
from host.tools.far.parentage import die_with_parent


def main() -> None:
    """Search as the query says whose descriptor is the first argument."""
    die_with_parent()
    search_child.main()
