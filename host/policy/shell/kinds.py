"""The kinds of nodes of the grammar that matter to a walk over a tree: plain tables."""

from typing import Final

REDIRECTS: Final = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
OPERATORS: Final = {
    ">": True,
    ">>": True,
    ">|": True,
    "&>": True,
    "&>>": True,
    ">&": True,
    "<>": True,
    "<": False,
    "<&": False,
    "<&-": False,
    ">&-": False,
}
ENTERED: Final = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "variable_assignment",
        "redirected_statement",
        "pipeline",
        "command_substitution",
        "process_substitution",
        "function_definition",
        "for_statement",
        "subshell",
    },
)
EVALUATED: Final = frozenset(
    {"arithmetic_expansion", "compound_statement", "c_style_for_statement", "test_command", "expansion"}
)
OWN_FOLDER: Final = frozenset({"subshell", "command_substitution", "process_substitution"})
NOTED: Final = REDIRECTS | EVALUATED | {"|", "|&", "function_definition"}
LEAVES: Final = frozenset({"comment", "word", "raw_string", "number", "string_content"})
