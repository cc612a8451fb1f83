package fairlock

import (
	"context"
	"time"
)

const (
	giveUpMax = 5 * time.Second
	// A server that has answered the release has long answered the request before it.
	answerMax = 500 * time.Millisecond
)

// abandon releases what a failed acquisition may have got: a place in the queue, or a hold. The
// error is that of the acquisition.
func (a *acquisition) abandon(failure error) {
	defer a.line.leave(a.keys, a.owner, a.listener)
	if !mayLeaveSomething(failure) {
		return
	}
	giveUpAt := now()
	if isOfContext(failure) {
		giveUpAt += giveUpMax // Otherwise, the server could not be reached for the whole wait.
	}
	// The release uses another connection than the interrupted requests, and may overtake them. So
	// it is repeated once they have been answered.
	pending := a.stillExecuted()
	if a.giveUpPlace(giveUpAt) && len(pending) > 0 {
		for _, r := range pending {
			r.await(context.Background(), answerMax)
		}
		a.giveUpPlace(giveUpAt)
	}
	a.releaseLater(a.stillExecuted())
}

func (a *acquisition) stillExecuted() (pending []*request) {
	for _, r := range a.outstanding {
		if !r.withdraw() {
			pending = append(pending, r)
		}
	}
	return pending
}

func (a *acquisition) giveUpPlace(giveUpAt duration) bool {
	var attempts backoff
	for {
		got := startRequest(a.to, a.through, a.giveUp(a.owner)).
			await(context.Background(), giveUpMax)
		if got.err == nil {
			return true
		}
		if !isTemporary(got.err) || now() >= giveUpAt {
			warn("giving up %q: %v", a.keys, got.err)
			return false
		}
		time.Sleep(attempts.pause(got.err))
	}
}

// releaseLater releases what requests get that are answered even later. It names the token: by
// then, the owner may have been used again.
func (a *acquisition) releaseLater(pending []*request) {
	for _, r := range pending {
		go func(r *request) {
			<-r.done
			if token := tokenOf(r.result.reply); token != nil {
				<-startRequest(a.to, a.through, a.unlock(a.owner, *token)).done
			}
		}(r)
	}
}
