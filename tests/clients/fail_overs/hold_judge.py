"""Judges what the workers were told: one holder per key, rising tokens, and no lock lost."""

import dataclasses
import math


@dataclasses.dataclass
class Hold:
    """Its worker certainly held the key from `granted` to `released`, in microseconds."""
    worker: str
    key: str
    token: int
    granted: int
    released: float = math.inf


def operations(attempts):
    """Yields (attempts, answer) for each request: all its attempts, and its answered attempt, or
    None if it was not answered before the end. A worker repeats a request until it is answered."""
    tried = {}
    for attempt in attempts:
        request = attempt["op"], attempt["key"]
        tried.setdefault(request, []).append(attempt)
        if "reply" in attempt:
            yield tried.pop(request), attempt
    for unanswered in tried.values():
        yield unanswered, None


def may_have_been_repeated(tried, answer, outages):
    """Whether an attempt may have been executed before the answered one: by the worker, or by its
    library, some of which repeat requests whose replies a fail-over has swallowed."""
    return len(tried) > 1 or any(answer["begun"] <= end and begin <= answer["ended"]
                                 for begin, end in outages)


def judge_worker(name, attempts, outages):
    """Returns the holds of one worker, and findings."""
    open_holds, holds, findings = {}, [], []
    for tried, answer in operations(attempts):
        op, key = tried[0]["op"], tried[0]["key"]
        if op == "UNLOCK" and key in open_holds:
            open_holds.pop(key).released = tried[0]["begun"]
        if answer is None:
            continue
        reply = answer["reply"]
        if op == "LOCK" and isinstance(reply, int):
            open_holds[key] = Hold(name, key, reply, answer["ended"])
            holds.append(open_holds[key])
        elif op == "LOCK" and reply is None and not key.endswith(":held"):
            pass
        elif op == "UNLOCK" and reply == 0 and may_have_been_repeated(tried, answer, outages):
            pass
        elif reply != 1 or op == "LOCK":
            findings.append(f"{name}: {op} {key} was answered with {reply!r} at {answer['ended']}, "
                            f"after {len(tried)} attempts")
    return holds, findings


def judge_holds(holds):
    """Returns findings about holds of one key."""
    findings = []
    ordered = sorted(holds, key=lambda hold: (hold.token, hold.granted))
    for earlier, later in zip(ordered, ordered[1:]):
        if earlier.token == later.token:
            findings.append(f"one token for two holds: {earlier} and {later}")
        elif later.granted < earlier.released:
            findings.append(f"two holders, or a token that fell: {earlier} and {later}")
    return findings


def judge(attempts_of, outages):
    """Takes {worker: attempts}, and when each fail-over began and ended; returns findings."""
    findings, by_key = [], {}
    for name, attempts in attempts_of.items():
        holds, found = judge_worker(name, attempts, outages)
        findings += found
        for hold in holds:
            by_key.setdefault(hold.key, []).append(hold)
    for holds in by_key.values():
        findings += judge_holds(holds)
    return findings
