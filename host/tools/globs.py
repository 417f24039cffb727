"""Matching a path against a pattern with `*`, `?`, `[…]` and `**`, in time linear in both for each part.

Patterns come from a model: turned into regular expressions, a row of stars could hold the interpreter for minutes. A
pattern without a slash is matched against the name alone. Imports nothing of the host: the search child uses it too.
"""


def matches(path: str, pattern: str) -> bool:
    """Say whether `path` (relative, with `/`) fits `pattern`; `**` stands for any number of folders."""
    if "/" not in pattern:
        return _part(path.rpartition("/")[2], pattern)
    wanted = [part for part in pattern.split("/") if part not in {"", "."}]
    reached = {0}  # how many parts of the pattern may be used up so far
    for part in path.split("/"):
        reached = _skipping(reached, wanted)
        reached = {
            at if wanted[at] == "**" else at + 1
            for at in reached
            if at < len(wanted) and (wanted[at] == "**" or _part(part, wanted[at]))
        }
    return len(wanted) in _skipping(reached, wanted)


def _skipping(reached: set[int], wanted: list[str]) -> set[int]:
    """Add what is reached when each `**` stands for no folder at all."""
    found = set(reached)
    for at in range(len(wanted)):
        if at in found and wanted[at] == "**":
            found.add(at + 1)
    return found


def _part(name: str, pattern: str) -> bool:
    """Match one name: after a mismatch only the last star takes one character more, so no state is looked at twice."""
    tokens = _tokens(pattern)
    at, wanted, star, resume = 0, 0, -1, 0
    while at < len(name):
        if wanted < len(tokens) and tokens[wanted] == "*":
            star, resume, wanted = wanted, at, wanted + 1
        elif wanted < len(tokens) and _one(name[at], tokens[wanted]):
            at, wanted = at + 1, wanted + 1
        elif star >= 0:
            resume += 1
            at, wanted = resume, star + 1
        else:
            return False
    return all(rest == "*" for rest in tokens[wanted:])


def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        end = pattern.find("]", at + 2) if pattern[at] == "[" else -1
        width = end - at + 1 if end > 0 else 1
        tokens.append(pattern[at : at + width])
        at += width
    return tokens


def _one(character: str, wanted: str) -> bool:
    if wanted == "?":
        return True
    if len(wanted) == 1:
        return character == wanted
    inside = wanted[1:-1]
    negated = inside[0] in "!^"
    return _in_set(character, inside[negated:]) != negated


def _in_set(character: str, members: str) -> bool:
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= character <= members[at + 2]:
                return True
            at += 3
        else:
            if character == members[at]:
                return True
            at += 1
    return False
