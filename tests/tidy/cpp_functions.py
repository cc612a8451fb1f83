"""Finds the function definitions of a C++ file and how many lines each has.

Not a parser: it matches braces, and the text before a brace says what it opens. That is enough for
the uniform style that clang-format produces.
"""

import dataclasses
import re

_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_INITIALISED_MEMBERS = re.compile(r"\)[\w\s]*:(?!:)")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\[\s\S])*", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    lines: int


def _without_parentheses(head):
    """Returns `head` with every (...) group reduced to ()."""
    out, depth = [], 0
    for char in head:
        if char == ")":
            depth -= 1
        if depth == 0:
            out.append(char)
        if char == "(":
            depth += 1
    return "".join(out)


def kind_of(head):
    """Says what the brace after `head` opens, at the scope of a file, namespace or class."""
    if head.count("(") > head.count(")"):
        return "member"  # an argument or a default argument: the head continues after it
    flat = _without_parentheses(head).strip()
    if flat.endswith("]]"):
        flat = flat[:flat.rindex("[[")].strip()
    named = re.sub(r"\boperator\s*[^\s\w(]+", "operator", flat)
    named = re.sub(r"template\s*<[^(){}]*>\s*(requires\b[^(){}]*)?", "", named)
    if re.search(r"=(?!=)", named):
        return "value"
    if "(" not in flat:
        return "scope" if _SCOPE.search(named) else "value"
    if _INITIALISED_MEMBERS.search(flat) and re.search(r"[\w>]$", flat):
        return "member"
    if re.match(r"(class|struct|union|enum|namespace|extern)\b", named) and not named.endswith(")"):
        return "scope"
    return "function"


def _name(head):
    match = re.search(r"(operator\s*[^\s\w(]+|[\w:~]+)\s*\(", head)
    return match.group(1).lstrip(":") if match else "?"


def close_of(code, start):
    """Returns the offset of the brace that closes the one at `start`."""
    depth = 0
    for offset in range(start, len(code)):
        if code[offset] == "{":
            depth += 1
        elif code[offset] == "}":
            depth -= 1
            if depth == 0:
                return offset
    return len(code) - 1


def functions_of(source):
    """Returns every function defined in a namespace or class of `source`, a SourceFile."""
    code = _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source.code)
    found, start, offset = [], 0, 0
    while offset < len(code):
        char = code[offset]
        if char in ";}" or (char == ":" and re.search(r"\b(public|private|protected)\s*$",
                                                      code[start:offset])):
            start = offset + 1
        elif char == "{":
            head = code[start:offset]
            kind = kind_of(head)
            if kind == "scope":
                start = offset + 1
            else:
                close = close_of(code, offset)
                if kind == "function":
                    first = source.line_of(start + len(head) - len(head.lstrip()))
                    found.append(Function(_name(head), first, source.line_of(close) - first + 1))
                if kind != "member":
                    start = close + 1
                offset = close
        offset += 1
    return found
