package fairlock

import (
	"context"
	"errors"
	"time"
)

const (
	giveUpMax = 5 * time.Second
	// A request without an answer may still reach the server within this time.
	underWayMax = 10 * time.Second
)

// abandon releases what a failed acquisition may have got: a place in the queue, or a hold. The
// error is that of the acquisition.
func (a *acquisition) abandon(failure error) {
	defer a.link.leave()
	defer a.line.leave(a.keys, a.owner, a.listener)
	if !mayLeaveSomething(failure) && (a.isNamed || !errors.Is(failure, ErrDeadlock)) {
		return
	}
	giveUpAt := now()
	if isOfContext(failure) {
		giveUpAt += giveUpMax // Otherwise, the server could not be reached for the whole wait.
	}
	a.giveUpPlace(giveUpAt)
	if a.isUnanswered && !a.isNamed {
		a.giveUpAgain()
	}
}

func (a *acquisition) giveUpPlace(giveUpAt duration) {
	var attempts backoff
	for {
		got := ask(context.Background(), a.to, a.giveUp(a.owner))
		if got.err == nil {
			return
		}
		if !isTemporary(got.err) || now() >= giveUpAt {
			warn("giving up %q: %v", a.keys, got.err)
			return
		}
		time.Sleep(attempts.pause(got.err))
	}
}

// giveUpAgain repeats the release of a request whose answer was not awaited: the first release used
// another connection, and may have overtaken the request. An owner that was named may be in use
// again by then.
func (a *acquisition) giveUpAgain() {
	a.link.use()
	time.AfterFunc(underWayMax, func() {
		defer a.link.leave()
		ask(context.Background(), a.to, a.giveUp(a.owner))
	})
}
