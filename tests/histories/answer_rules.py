"""Rules for replies: no premature time-out, no unsolicited reply, no connection that the server
closes."""

from actions import FOREVER

ERRORS = ("DEADLOCK ", "SUPERSEDED ", "CANCELLED ", "LOADING ",
          "ERR new-owner: ", "ERR NOTIFY: channel ",
          "ERR LIMIT or SHARED: ")  # when the hold that TRANSFER gave to the owner has another mode
# Commands that may end a place of an owner, or give the owner one of the keys that its MLOCK
# requests.
CANCELS = ("CANCEL", "UNLOCK", "MUNLOCK", "TRANSFER", "SET")


def check(reconstruction, find):
    cancels = {}
    asks = {}
    for action in reconstruction.actions:
        if action.name in CANCELS:
            for key in action.keys:
                cancels.setdefault(key, []).append(action)
        if action.kind == "ask":
            for key in action.keys:
                asks.setdefault((key, action.owner), []).append(action)
    for action in reconstruction.actions:
        if action.is_answered and action.kind == "ask":
            _check_early(action, find)
        if action.is_error:
            _check_error(action, asks, cancels, find)
    _check_messages(reconstruction, asks, find)
    _check_closes(reconstruction, find)
    _check_lives(reconstruction, find)


def _check_early(action, find):
    if action.reply is not None or not action.wait or "NOTIFY" in action.options:
        return
    if action.until < action.sent + action.wait:
        find("timed out early", action.keys[0], f"{action}")


def _check_error(action, asks, cancels, find):
    key, error = action.keys[0], action.error
    if not error.startswith(ERRORS):
        find("unexpected answer", key, f"{action}")
    elif error.startswith("SUPERSEDED "):
        if not any(other is not action and other.sent <= action.until and
                   other.until >= action.sent for other in asks[key, action.owner]):
            find("superseded by nobody", key, f"{action}")
    elif error.startswith("CANCELLED "):
        if not any(other.sent <= action.until and other.until >= action.sent and
                   action.owner in (other.owner, other.heir)
                   for one in action.keys for other in cancels.get(one, ())):
            find("cancelled by nobody", key, f"{action}")


def _check_messages(reconstruction, asks, find):
    outcomes = {}
    for message in reconstruction.history.messages:
        event = message.event
        key, owner = event["key"], event["owner"]
        wanted = [ask for ask in asks.get((key, owner), ())
                  if ask.options.get("NOTIFY") == message.channel and ask.sent <= message.at]
        if not wanted:
            find("unasked message", key, f"{event} on {message.channel}")
            continue
        if event["event"] == "timeout":
            if all(ask.wait == FOREVER or message.at < ask.sent + ask.wait for ask in wanted):
                find("timed out early", key, f"{event}, asked by {wanted[0]}")
        if event["event"] == "granted":
            if outcomes.setdefault((key, owner, event["token"]), message) is not message:
                find("granted twice", key, f"{event}")


def _check_closes(reconstruction, find):
    """The server closes connections only when it is ending, or after the client has closed its
    side."""
    ending = {life.number: life.ending for life in reconstruction.lives}
    for close in reconstruction.history.closes:
        if close.by != "server" or reconstruction.closed_at(close.client) < close.at:
            continue
        if ending.get(close.life) is None or close.at < ending[close.life]:
            find("closed by the server", "-", f"connection {close.client} at {close.at / 1e6:.3f}")


def _check_lives(reconstruction, find):
    for life in reconstruction.lives:
        if life.is_clean and life.status not in (None, 0):
            find("failed stop", "-", f"{life.how} ended process {life.number} with {life.status}")
