"""The account of the elements of shared lists: which clients pushed, moved and popped which
elements. After each restart it is compared with the content of the lists.

There are three groups of lists. From the lists `first` and `both`, consumers pop elements for good;
an element whose reply was lost with the connection cannot be seen again. Consumers of `moved` move
an element to a list of their own with BLMOVE, and delete it there later, so every one is accounted
for.
"""

import collections
import dataclasses

from owners import Finding

FIRST = "first"            # pushed to the right, popped from the left
BOTH = ("both1", "both2")  # pushed to and popped from both ends
MOVED = "moved"


def own_list(number):
    return f"own{number}"


def group_of(name):
    return FIRST if name == FIRST else "both" if name in BOTH else MOVED


@dataclasses.dataclass
class Push:
    """One request that pushes elements to lists, all or none."""
    elements: dict  # element -> list
    is_answered: bool = False


@dataclasses.dataclass
class Pop:
    """A request that pops up to `count` elements for good, or moves one to the list `target`."""
    group: str
    count: int = 1
    target: str | None = None


@dataclasses.dataclass
class Move:
    """A request that deletes an element from a consumer's own list, or moves it back."""
    element: str
    source: str


class Ledger:

    def __init__(self):
        self.findings = []
        self.places = {}    # element -> list, according to the replies
        self.gone = {}      # element -> why
        self.pushes = []    # in flight, as are the next two
        self.pops = []
        self.moves = []
        self.popped_from_first = collections.defaultdict(list)  # (consumer, producer) -> numbers
        self.newest_popped = collections.defaultdict(int)       # producer -> number, of `first`
        self.counts = collections.Counter()

    def find(self, rule, text):
        self.findings.append(Finding(rule, "lists", text))

    # What clients do

    def begin_push(self, elements):
        push = Push(elements)
        self.pushes.append(push)
        return push

    def end_push(self, push, is_executed=True):
        self.pushes.remove(push)
        if is_executed:
            self.counts["pushed"] += len(push.elements)
            for element, name in push.elements.items():
                # The reply to a pop or a move may have been read before that to the push.
                if element not in self.gone:
                    self.places.setdefault(element, name)

    def begin_pop(self, group, count=1, target=None):
        pop = Pop(group, count, target)
        self.pops.append(pop)
        return pop

    def end_pop(self, pop, elements, consumer):
        """The elements of an answered pop; none if there were none or it was refused."""
        self.pops.remove(pop)
        for element in elements:
            if not self._is_known(element):
                self.find("unknown element", f"{element} was popped, but never pushed")
            elif element in self.gone:
                self.find("delivered twice", f"{element}, {self.gone[element]} before, was popped "
                                             f"by {consumer}")
            elif pop.target is not None:
                place = self.places.get(element, MOVED)
                # The reply to the request that moved it back may not have been read yet.
                is_moved_back = any((move.element, move.source) == (element, place)
                                    for move in self.moves)
                if place != MOVED and not is_moved_back:
                    self.find("delivered twice", f"{element} is in {place}, and was moved to "
                                                 f"{pop.target}")
                self.places[element] = pop.target
            else:
                self.counts["popped"] += 1
                self.gone[element] = f"popped by {consumer}"
                self.places.pop(element, None)
                self._check_order(pop, element, consumer)

    def _check_order(self, pop, element, consumer):
        if pop.group != FIRST:
            return
        producer, number = producer_of(element)
        popped = self.popped_from_first[consumer, producer]
        if popped and popped[-1] > number:
            self.find("out of order", f"{element} was popped by {consumer} after {popped[-1]}")
        popped.append(number)
        self.newest_popped[producer] = max(self.newest_popped[producer], number)

    def begin_move(self, element, source):
        move = Move(element, source)
        self.moves.append(move)
        return move

    def end_move(self, move, target, is_executed=True, is_refused=False):
        """`target` is None if the element was deleted. REQUIRES: nobody else moves it."""
        self.moves.remove(move)
        if is_refused:
            return
        if not is_executed:
            self.find("lost element", f"{move.element} was not in {move.source} any more")
        is_taken = self.places.get(move.element) != move.source
        if target is None:
            if is_taken:
                self.find("delivered twice", f"{move.element} was deleted from {move.source}, and "
                                             f"is in {self.places.get(move.element)}")
            self.gone[move.element] = f"deleted from {move.source}"
            self.places.pop(move.element, None)
        elif not is_taken:
            self.places[move.element] = target

    def _is_known(self, element):
        return (element in self.places or element in self.gone or
                any(element in push.elements for push in self.pushes))

    # The judgement

    def judge(self, found, life):
        """`found` is a dict of lists to their elements. All requests have ended."""
        present = {}
        for name, elements in found.items():
            for element in elements:
                if element in present:
                    self.find("in two places", f"{element} is in {present[element]} and {name}")
                present[element] = name
        for element, name in present.items():
            self._judge_present(element, name)
        self._judge_pushes(present, life)
        self._judge_missing(present, life)
        self._judge_order(found)
        self.places = dict(present)
        self.pushes.clear()
        self.pops.clear()
        self.moves.clear()

    def _judge_present(self, element, name):
        if not self._is_known(element):
            self.find("unknown element", f"{element} is in {name}, but was never pushed")
        elif element in self.gone:
            self.find("came back", f"{element}, {self.gone[element]}, is in {name}")
        elif group_of(name) == MOVED:
            place = self.places.get(element, MOVED)
            if place == name:
                return
            was_moved = any(pop.target == name for pop in self.pops)
            was_moved_back = any((move.element, move.source) == (element, place)
                                 for move in self.moves)
            if name == MOVED and not was_moved_back or name != MOVED and not (
                    was_moved and place == MOVED):
                self.find("in the wrong place", f"{element} was in {place}, and is in {name}")

    def _judge_pushes(self, present, life):
        for push in self.pushes:
            seen = [each for each in push.elements if each in present or each in self.gone]
            if not seen:
                continue  # not executed, or all of its elements were popped without an answer
            self.counts["pushes executed without an answer"] += 1
            if life.is_clean and not all(each in self.gone for each in push.elements):
                self.find("executed without an answer", f"push of {seen}, at a clean stop")
            for element, name in push.elements.items():
                if element not in self.gone:
                    self.places.setdefault(element, name)

    def _judge_missing(self, present, life):
        groups = collections.defaultdict(list)
        for element, place in self.places.items():
            if element not in present:
                groups[group_of(place)].append(element)
        for group, missing in groups.items():
            if group == MOVED:
                deleted = {move.element for move in self.moves}
                excess = [each for each in missing if each not in deleted]
                allowed = 0
            else:
                allowed = sum(pop.count for pop in self.pops if pop.group == group)
                excess = missing if len(missing) > allowed else []
            if life.is_clean:
                excess = missing
            self.counts["popped without an answer"] += len(missing)
            if excess:
                self.find("lost element", f"{len(missing)} of {group}, {allowed} pops in flight: "
                                          f"{excess[:5]}")
            for element in missing:
                self.gone[element] = "missing after a restart"

    def _judge_order(self, found):
        newest = {}
        for element in found.get(FIRST, ()):
            producer, number = producer_of(element)
            if number < newest.get(producer, 0):
                self.find("out of order", f"{element} comes after {newest[producer]}")
            elif number < self.newest_popped[producer] and element not in self.gone:
                self.find("out of order", f"{element} is in {FIRST}, and "
                                          f"{self.newest_popped[producer]} was popped")
            newest[producer] = number


def producer_of(element):
    producer, _, number = element.partition(":")
    return producer, int(number)
