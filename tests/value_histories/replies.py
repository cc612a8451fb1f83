"""Expected replies that are not fixed, and how they are compared with those of the server."""

MS = 1_000_000
SLACK = 300 * MS  # the clock of a turn is a little behind, and a busy machine delays both sides


class ErrorOf:
    """An error that begins with this word."""

    def __init__(self, word):
        self.word = word

    def __repr__(self):
        return f"an error {self.word}"

    def matches(self, reply, _sent, _answered):
        return isinstance(reply, dict) and reply.get("error", "").startswith(self.word)


WRONG_TYPE = ErrorOf("WRONGTYPE")


class Unordered:
    """These elements in any order."""

    def __init__(self, elements):
        self.elements = sorted(elements)

    def __repr__(self):
        return f"{self.elements} in any order"

    def matches(self, reply, _sent, _answered):
        return isinstance(reply, list) and sorted(reply) == self.elements


class NewToken:
    """The token of a new grant."""

    def __init__(self, token):
        self.token = token

    def __repr__(self):
        return "a new token"

    def matches(self, reply, _sent, _answered):
        if not isinstance(reply, int):
            return False
        self.token.number = reply
        return True


class TimeLeft:
    """The time to live that is left, in milliseconds."""

    def __init__(self, ttl):
        self.ttl = ttl

    def __repr__(self):
        return f"the time left of {self.ttl.length // MS} ms"

    def matches(self, reply, sent, answered):
        self.ttl.end_by(answered)
        return (isinstance(reply, int) and
                self.ttl.lower - SLACK <= answered + reply * MS and
                sent + reply * MS <= self.ttl.upper + SLACK)


def matches(expected, reply, sent, answered):
    if hasattr(expected, "matches"):
        return expected.matches(reply, sent, answered)
    if isinstance(expected, list):
        return (isinstance(reply, list) and len(reply) == len(expected) and
                all(matches(one, other, sent, answered) for one, other in zip(expected, reply)))
    return type(expected) is type(reply) and expected == reply


def as_score(score):
    """Redis prints the shortest text that gives the number; whole ones have no fraction."""
    return str(int(score)) if score == int(score) else repr(score)
