"""Writes the files of a package besides the programs: man pages, completions, configuration, docs.

    make_package_files.py FAIRLOCKD FAIRLOCKCTL FOLDER

Options and commands come from the programs' own --help and --print-config; the text around them
from deploy/man. FOLDER/doc becomes /usr/share/doc/fairlock, FOLDER/share /usr/share/fairlock.
"""

import gzip
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
TOP = HERE.parent

# The installed paths of files that the docs and the alerts name by their path in the tree. The
# first match counts.
INSTALLED_PATHS = {
    "../conf/users.acl": "/usr/share/doc/fairlock-server/examples/users.acl",
    "conf/users.acl": "/usr/share/doc/fairlock-server/examples/users.acl",
    "conf/fairlock.yaml": "/etc/fairlock/fairlock.yaml",
    "deploy/prometheus": "/usr/share/fairlock/prometheus",
    "deploy/grafana": "/usr/share/fairlock/grafana",
    "deploy/systemd": "/lib/systemd/system",
    "docs/": "/usr/share/doc/fairlock/",
}
IN_TREE = re.compile("|".join(rf"(?<![\w/]){re.escape(path)}" for path in INSTALLED_PATHS))
LINK = re.compile(r"\]\(([^)#\s]+)")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True,
                          env={"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}).stdout


def roff(text):
    """Escapes the text for troff."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return "\n".join(r"\&" + line if line[:1] in ".'" else line for line in text.splitlines())


def entry(term, text):
    return f".TP\n.B {roff(term)}\n{roff(text)}\n"


def options_of_the_file(config):
    """Reads `# comment` lines, `# Allowed: ...`, then `name: value`, as in --print-config."""
    entries = []
    for block in config.split("\n\n")[1:]:
        lines = block.strip().splitlines()
        name, value = re.fullmatch(r"([\w.]+): (.*)", lines[-1]).groups()
        comment = " ".join(line.removeprefix("# ") for line in lines[:-1])
        entries.append(entry(f"{name}: {value}", comment))
    return "".join(entries)


def verbatim(text):
    return f".nf\n{roff(text.rstrip())}\n.fi\n"


def names_of_commands(help_text):
    """Returns the verbatim text of all sections except the options."""
    groups = re.split(r"\n\n+", help_text)
    return [match.group(1) for group in groups if not re.match(r"(Options|Which server):", group)
            for match in re.finditer(r"^  ([a-z]+) {2,}", group, re.MULTILINE)]


def commands_of_the_tool(tool):
    """Returns a section for each command, with the text of its own --help."""
    sections = []
    for name in names_of_commands(output(tool, "--help")):
        paths = [[name]]
        text = output(tool, name, "--help")
        if "SUBCOMMAND" in text:
            paths = [[name, below] for below in re.findall(r"^  ([a-z]+) {2,}", text, re.MULTILINE)]
        for path in paths:
            sections.append(f".SS {' '.join(path)}\n")
            sections.append(verbatim(output(tool, *path, "--help").split("\nWhich server:")[0]))
    return "".join(sections)


def compressed(path, text):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def installed(text):
    return IN_TREE.sub(lambda match: INSTALLED_PATHS[match.group()], text)


def copy(source, target):
    """Copies the file, or all files below the folder, with paths replaced by the installed ones."""
    if source.is_dir():
        for below in sorted(source.iterdir()):
            copy(below, target / below.name)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".png":
        shutil.copyfile(source, target)
    else:
        target.write_text(installed(source.read_text()))


def check_links(folder):
    for page in sorted(folder.rglob("*.md")):
        for link in LINK.findall(page.read_text()):
            link = link.replace(INSTALLED_PATHS["docs/"], f"{folder}/")
            if not re.match(r"[a-z]+:|/usr/|/etc/", link) and not (page.parent / link).exists():
                sys.exit(f"{page.relative_to(folder)}: nothing is installed at the link {link}")


def write_docs(folder):
    shutil.rmtree(folder / "doc", ignore_errors=True)
    shutil.rmtree(folder / "share", ignore_errors=True)
    copy(TOP / "docs", folder / "doc")
    copy(TOP / "CHANGELOG.md", folder / "doc" / "CHANGELOG.md")
    check_links(folder / "doc")
    for name in ("grafana/fairlock.json", "prometheus/fairlock-alerts.yaml",
                 "prometheus/prometheus.yaml"):
        copy(HERE / name, folder / "share" / name)


def write_all(server, tool, folder):
    folder.mkdir(parents=True, exist_ok=True)
    write_docs(folder)
    config = output(server, "--print-config")
    (folder / "fairlock.yaml").write_text(config)
    for shell in ("bash", "zsh", "fish"):
        (folder / f"fairlockctl.{shell}").write_text(output(tool, "completion", shell))
    generated = {"@SERVER_OPTIONS@": verbatim(output(server, "--help")),
                 "@FILE_OPTIONS@": options_of_the_file(config),
                 "@TOOL_OPTIONS@": verbatim(output(tool, "--help")),
                 "@TOOL_COMMANDS@": commands_of_the_tool(tool),
                 "@VERSION@": output(server, "--version").split()[1]}
    for source in (HERE / "man").iterdir():
        text = source.read_text()
        for marker, replacement in generated.items():
            text = text.replace(marker, replacement.rstrip("\n"))
        compressed(folder / f"{source.name}.gz", text)
    compressed(folder / "changelog.gz", (HERE / "debian" / "changelog").read_text())


if __name__ == "__main__":
    write_all(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve())
