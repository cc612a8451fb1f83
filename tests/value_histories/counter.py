"""The account of a number that several clients increase under a lock."""

from owners import Finding


class GuardedNumber:

    def __init__(self):
        self.findings = []
        self.written = {}    # number -> the client whose write was answered
        self.unanswered = {}  # client -> number
        self.newest = 0

    def begin(self, number, client):
        if number <= self.newest:
            self.findings.append(Finding("went back", "counter", f"{client} writes {number}, but "
                                                                 f"{self.newest} was written"))
        self.unanswered[client] = number

    def end(self, number, client):
        del self.unanswered[client]
        if number in self.written:
            self.findings.append(Finding("went back", "counter", f"{number} was written by "
                                                                 f"{self.written[number]}, then "
                                                                 f"by {client}"))
        self.written[number] = client
        self.newest = max(self.newest, number)

    def judge(self, found, life):
        allowed = {self.newest}
        if not life.is_clean:
            allowed.update(self.unanswered.values())
        if found not in allowed:
            self.findings.append(Finding("lost change", "counter", f"is {found}, allowed "
                                                                   f"{sorted(allowed)}"))
        self.newest = max(found, self.newest)
        self.unanswered.clear()
