"""Measures the classes of a C++ file: how many public functions and how many members each has.

Not a parser, like cpp_functions: it relies on clang-format's uniform style.

    tests/tidy/cpp_classes.py [FOLDER...]    prints the largest classes below these folders
"""

import dataclasses
import pathlib
import re
import sys

import cpp_functions
import source_file

_CLASS = re.compile(r"\b(?<!enum )(class|struct)\s+(\w+)(?:\s+final)?\s*(:(?!:)[^{;()]*)?\{")
_ACCESS = re.compile(r"\s*\b(public|private|protected)\s*:(?!:)")
_NEITHER = re.compile(r"(using|typedef|friend|static_assert|template\s*<[^;]*>\s*(class|struct)"
                      r"|class|struct|enum|union)\b")


@dataclasses.dataclass(frozen=True)
class MeasuredClass:
    name: str
    line: int
    is_struct: bool
    public_functions: int
    members: int


def _without_templates(text):
    """Returns `text` without its template arguments, the parts between < and >."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def _statements(body):
    """Returns the (access, declaration) pairs of a class body; access is "" before the first
    label."""
    access, head, offset = "", "", 0
    while offset < len(body):
        char = body[offset]
        label = _ACCESS.match(body, offset) if not head.strip() else None
        if label:
            access, head, offset = label.group(1), "", label.end()
            continue
        if char == ";":
            yield access, head.strip()
            head = ""
        elif char == "{":
            offset = cpp_functions.close_of(body, offset)
            if cpp_functions.kind_of(head) == "function":
                yield access, head.strip()
                head = ""
        else:
            head += char
        offset += 1


def _is_function(declaration, class_name):
    """Whether it declares a function for callers, not one that constructs, copies or destroys
    objects."""
    flat = _without_templates(declaration)
    if "(" not in flat or re.search(r"=\s*(delete|default)\s*$", flat):
        return False
    name = re.search(r"([\w~]+)\s*\(", flat)
    return (name is not None and "operator" not in flat
            and name.group(1) not in (class_name, f"~{class_name}"))


def _is_member(declaration):
    return not re.match(r"static\b", declaration)


def classes_of(source):
    """Returns every class and struct defined in `source`, a SourceFile."""
    found = []
    for match in _CLASS.finditer(source.code):
        close = cpp_functions.close_of(source.code, match.end() - 1)
        is_struct, name = match.group(1) == "struct", match.group(2)
        functions = members = 0
        for access, declaration in _statements(source.code[match.end():close]):
            if not declaration or _NEITHER.match(declaration):
                continue
            flat = _without_templates(declaration)
            if "operator" in flat or "(" in flat.split("=")[0]:
                is_public = access == "public" or (is_struct and access == "")
                functions += is_public and _is_function(declaration, name)
            else:
                members += _is_member(declaration)
        found.append(MeasuredClass(name, source.line_of(match.start()), is_struct, functions,
                                   members))
    return found


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[2]
    folders = tuple(arguments[1:]) or ("",)
    rows = [(each.public_functions, each.members, each.name, file.path)
            for file in source_file.read_tree(root) if file.is_cpp and file.path.startswith(folders)
            for each in classes_of(file) if not each.is_struct or each.public_functions > 0]
    print("public functions, members, class, file")
    for row in sorted(rows, reverse=True)[:40]:
        print("%4d %4d  %-24s %s" % row)


if __name__ == "__main__":
    main(sys.argv)
