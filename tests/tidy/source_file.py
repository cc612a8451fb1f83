"""One file of the tree, as the rules see it: its path, its lines, and its code without comments."""

import dataclasses
import functools
import pathlib
import re

CPP_SUFFIXES = {".cc", ".h"}
CODE_SUFFIXES = CPP_SUFFIXES | {".py", ".sh", ".cmake", ".js", ".mjs", ".ts", ".mts", ".css"}
TEXT_SUFFIXES = CODE_SUFFIXES | {".md", ".txt", ".yaml", ".yml", ".json", ".service", ".scenario"}
SKIPPED_FOLDERS = {".git", ".cache", "build", "data", "node_modules", "target",
                   "__pycache__"}

# Comments, then literals, in the order in which they must be tried.
_CPP_TOKEN = re.compile(
    r"""//(?:[^\n\\]|\\[\s\S])*"""
    r"""|/\*[\s\S]*?\*/"""
    r"""|(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\([\s\S]*?\)(?P=mark)\""""
    r"""|"(?:[^"\\\n]|\\[\s\S])*\""""
    r"""|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\[\s\S])*'""")


def _blank(text):
    """Returns the text with everything except line ends replaced by spaces."""
    return re.sub(r"[^\n]", " ", text)


@dataclasses.dataclass(frozen=True)
class SourceFile:
    """A text file; `path` is relative to the root, with forward slashes."""

    path: str
    text: str
    tree: frozenset = frozenset()  # the paths of all files, including this one

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    @property
    def is_code(self):
        """Whether it is source, or builds or runs sources; scripts without a suffix are code,
        too."""
        name = pathlib.PurePosixPath(self.path).name
        return (self.suffix in CODE_SUFFIXES or name == "CMakeLists.txt"
                or self.text.startswith("#!"))

    @functools.cached_property
    def lines(self):
        return self.text.splitlines()

    @functools.cached_property
    def code(self):
        """C++ with comments and the contents of literals blanked; lines and columns stay the
        same."""
        def replace(match):
            token = match.group()
            if token.startswith("/"):
                return _blank(token)
            return token[0] + _blank(token[1:-1]) + token[-1]
        return _CPP_TOKEN.sub(replace, self.text) if self.is_cpp else self.text

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


def _paths_below(root):
    for path in sorted(pathlib.Path(root).rglob("*")):
        relative = path.relative_to(root)
        if not SKIPPED_FOLDERS & set(relative.parts) and path.is_file():
            yield relative


def read_tree(root):
    """Reads all text files below `root` that belong to the project, sorted by path."""
    paths = list(_paths_below(root))
    tree = frozenset(path.as_posix() for path in paths)
    files = []
    for path in paths:
        if path.suffix not in TEXT_SUFFIXES and path.suffix != "" or "corpus" in path.parts:
            continue
        try:
            text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # not text: no rule applies
        files.append(SourceFile(path.as_posix(), text, tree))
    return files
