"""Plants violations in a recorded history: changes one reply, or two, to what breaks a rule.

Each function looks for a place where that is certain, and returns the rules of which one must find
it, or None if the history has no such place.
"""

from fleet_holds import Book
from fleet_values import WRITES

GONE = {"lost-grant", "lease-early"}


def asks_with(book, word):
    return [owner for owner in book.all_owners() if owner.holds and
            any(word in ask.words for ask in owner.asks)]


def deny(history, holds):
    """Lets a client be told that one of these holds is gone."""
    for hold in holds:
        for request in history.requests:
            asks = (["CHECK", hold.key, hold.token], ["LOCKED", hold.key, hold.owner])
            if request.words in asks and request.reply == 1 and hold.is_sure(request):
                request.reply = 0
                return GONE
    return None


def session(history):
    """Tells another connection that a hold of a session is gone."""
    holds = [hold for owner in asks_with(Book(history), "SESSION")
             for hold in owner.holds.values()]
    for hold in holds:
        hold.connection = ()  # its own connection proves nothing here
    return deny(history, holds)


def transfer(history):
    tokens = {request.reply for request in history.requests if request.words[0] == "TRANSFER"}
    holds = [hold for owner in Book(history).all_owners() for hold in owner.holds.values()]
    return deny(history, [hold for hold in holds if hold.token in tokens])


def transferred(history):
    """The hold that was passed on is still seen."""
    done = {request.words[-1]: request for request in history.requests
            if request.words[0] == "TRANSFER" and request.reply}
    for request in history.requests:
        given = done.get(request.words[-1]) if request.words[0] == "CHECK" else None
        if given and request.reply == 0 and given.answered < request.sent:
            request.reply = 1
            return {"lost-release"}
    return None


def half_step(history):
    for request in history.requests:
        if request.words[0] == "STEP" and request.reply == [1, 1]:
            request.reply = [1, 0]
            return {"half-mlock"}
    return None


def half_release(history):
    for request in history.requests:
        if request.words[0] == "MUNLOCK" and request.reply == 2:
            request.reply = 1
            return {"half-mlock"}
    return None


def turns(history):
    """Two waiters that nobody looked at together are granted in the other order."""
    book = Book(history)
    for key, reads in book.reads.items():
        for read in reads:
            if read.words[0] != "POSITION" or not read.reply:
                continue
            first = book.owner(key, read.words[2])
            for owner in book.owners[key].values():
                pair = [*first.asks, *owner.asks]
                if len(pair) == 2 and all(isinstance(ask.reply, int) for ask in pair) and \
                        owner.asks[0].sent > read.answered and pair[0].reply < pair[1].reply:
                    swap(*pair)
                    return {"fifo-order"}
    return None


def swap(one, other):
    one.reply, other.reply = other.reply, one.reply


def values_of(history, names):
    return [request for request in history.requests
            if request.words[0] in names and request.is_answered]


def stale_value(history):
    """A value is read again after another one was."""
    for key in {request.words[1] for request in values_of(history, WRITES)}:
        reads = sorted((request for request in values_of(history, ("GET", "HGET"))
                        if request.words[1] == key and request.reply is not None),
                       key=lambda one: one.sent)
        for first, second, third in zip(reads, reads[1:], reads[2:]):
            if first.reply != second.reply and first.answered < second.sent and \
                    second.answered < third.sent:
                third.reply = first.reply
                return {"stale-value"}
    return None


def unknown_value(history):
    written = {request.words[1] for request in values_of(history, WRITES)}
    for request in values_of(history, ("GET", "HGET")):
        if request.words[1] in written:
            request.reply = "nobody wrote this"
            return {"unknown-value"}
    return None


def changed_number(history, change, rule):
    for request in values_of(history, ("INCR", "HINCRBY"))[10:]:
        request.reply += change
        return {rule}
    return None


def lost_increment(history):
    return changed_number(history, -10, "stale-value")


def double_increment(history):
    return changed_number(history, 1000, "unknown-value")


ALL = (session, transfer, transferred, half_step, half_release, turns, stale_value, unknown_value,
       lost_increment, double_increment)
