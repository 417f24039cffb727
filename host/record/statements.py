"""The SQL of `host/record/sql/`: the projections' tables and every query over them, for this room alone."""

from pathlib import Path
from typing import Final

from memory.statements import Statements

_OWN: Final = Statements(Path(__file__).parent / "sql")
query: Final = _OWN.query
script: Final = _OWN.script
