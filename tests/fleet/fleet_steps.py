"""The rules of several locks at once, and of waiters that ask only once."""

from fleet_holds import told


def check(book, find):
    for request in book.several:
        check_halves(request, find)
    for key, owners in book.owners.items():
        check_turns(book, key, owners, find)


def check_halves(request, find):
    """The clients use the keys of an MLOCK together only: it is there on all of them, or on
    none."""
    if request.words[0] == "MUNLOCK":
        is_half = request.reply not in (0, request.words[1])
    else:
        is_half = len(set(request.reply)) > 1
    if is_half:
        find("half-mlock", request.answered, told(request))


def check_turns(book, key, owners, find):
    """A waiter that never lost its connection is granted before all whose first request was sent
    after it was shown to wait."""
    shown = {}  # owner: when it was first shown to wait, and by which request
    for read in book.reads.get(key, ()):
        if read.words[0] == "POSITION" and read.reply:
            owner = book.owner(key, read.words[2])
            if len(owner.asks) == 1 and isinstance(owner.asks[0].reply, int):
                first = shown.setdefault(owner.name, read)
                if read.answered < first.answered:
                    shown[owner.name] = read
    holds = [hold for owner in owners.values() for hold in owner.holds.values()]
    for name, read in shown.items():
        waiter = owners[name].asks[0]
        for hold in holds:
            if hold.asked > read.answered and hold.token < waiter.reply:
                find("fifo-order", hold.told, told(read), told(waiter), told(hold.grant))
