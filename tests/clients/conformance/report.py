"""The table of cases and languages, and what went wrong."""

import collections


def parts_of(cast):
    """Returns which language plays which part."""
    return ", ".join(f"{name}: {language}" for name, language in cast.items())


class Report:
    """Counts the runs of each case in which a language took part."""

    def __init__(self, languages, out):
        self.languages = languages
        self.out = out
        self.runs = collections.Counter()         # counts by (server, case, language)
        self.failed = collections.Counter()
        self.unsupported = collections.Counter()
        self.sentences = {}                       # {(server, case): what it shows}
        self.problems = []
        self.seconds = 0

    @property
    def is_passed(self):
        return not self.problems and self.runs.total() > self.unsupported.total()

    def add(self, server, case, cast, problem, is_supported, seconds):
        self.sentences[server, case.name] = case.shows
        self.seconds += seconds
        for language in {language.name for language in cast.values()}:
            self.runs[server, case.name, language] += 1
            self.failed[server, case.name, language] += problem is not None
            self.unsupported[server, case.name, language] += not is_supported
        if problem is not None:
            self.problems.append(f"{case.name} on {server} ({parts_of(cast)}): {problem}")
            self.out(f"FAILED {self.problems[-1]}")

    def cell(self, server, case, language):
        place = (server, case, language)
        if not self.runs[place]:
            return ""
        if self.failed[place]:
            return f"{self.failed[place]} of {self.runs[place]} failed"
        passed = self.runs[place] - self.unsupported[place]
        return str(passed) if passed else "-"

    def print(self):
        self.out(f"| case | server | {' | '.join(self.languages)} | what it shows |")
        self.out("|---" * (len(self.languages) + 3) + "|")
        for (server, case), sentence in self.sentences.items():
            cells = " | ".join(self.cell(server, case, language) for language in self.languages)
            self.out(f"| {case} | {server} | {cells} | {sentence} |")
        self.out(f"{len(self.sentences)} cases, {len(self.problems)} failed runs, "
                 f"{self.seconds:.0f} s; a number counts passed runs, - means that the language "
                 f"does not have it")
