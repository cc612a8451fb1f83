package fairlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const releaseMax = 5 * time.Second

// Hold is a lock that is held.
type Hold struct {
	holdState
	terms   *terms
	to      route
	through *gates
	owner   string
	watch   watch
	renewal sync.Mutex // held during each RENEW, whose order decides about the lease

	line     *line // nil if it did not wait over a channel
	listener *listener
}

func newHold(a *acquisition, got grant) *Hold {
	hold := &Hold{holdState: newHoldState(a.keys, a.lease, got), terms: &a.terms, to: a.to,
		through: a.through, owner: a.owner, line: a.line}
	if a.line != nil {
		hold.listener = &listener{hold.hear}
		a.line.listeners.set(a.keys, a.owner, hold.listener)
		for _, it := range a.mail.takeAll() {
			hold.hear(it) // It arrived during the acquisition.
		}
	}
	return hold
}

// Keys returns the keys that are held.
func (h *Hold) Keys() []string { return append([]string(nil), h.keys...) }

// Owner returns the owner, as the server knows it.
func (h *Hold) Owner() string { return h.owner }

// Token returns the fencing token, to be sent with every write. The error is that of Check.
func (h *Hold) Token() (int64, error) {
	if err := h.check(); err != nil {
		return 0, err
	}
	return h.token, nil
}

// Check returns ErrLostHold if the lock is lost or released, or if its lease may have ended. It
// sends nothing.
func (h *Hold) Check() error { return h.check() }

// Left returns the time for which the lease lasts at least, unless it is renewed.
func (h *Hold) Left() time.Duration { return h.left() }

// Context returns a context that ends when the hold is lost or released.
func (h *Hold) Context() context.Context {
	ctx, end := h.context()
	return holdContext{ctx, h, end}
}

// Renew renews the lease now. If lease is not 0, it is the length of the lease from now on.
func (h *Hold) Renew(ctx context.Context, lease time.Duration) error {
	if err := h.check(); err != nil {
		return err
	}
	if lease == 0 {
		lease = h.currentLease()
	}
	err := h.askRenewal(ctx, lease)
	h.hurry()
	if err != nil {
		return translated(err)
	}
	return h.check()
}

// Unlock releases the lock. It returns ErrLostHold if the lock was not held until now. An ended
// context does not prevent the release: the server is asked once, and is asked again for 5 s or
// until ctx ends if it cannot be reached. After that, the end of the lease ends the hold.
func (h *Hold) Unlock(ctx context.Context) error {
	if h.hasLeft() {
		return h.check()
	}
	defer h.leave()
	reason := h.check()
	wasHeld, isRepeated := h.beginRelease()
	giveUpAt := now() + releaseMax
	var attempts backoff
	for {
		got := h.ask(context.Background(), h.terms.unlock(h.owner, h.token), releaseMax)
		if got.err == nil {
			// The first of two requests may have been executed although its reply was lost.
			if wasHeld && (isRepeated || got.reply == int64(len(h.keys))) {
				return nil
			}
			return lostBefore(h.keys, reason)
		}
		if !isTemporary(got.err) || now() >= giveUpAt || ctx.Err() != nil {
			warn("releasing %q: %v", h.keys, got.err)
			return reason
		}
		isRepeated = true
		sleep(ctx, attempts.pause(got.err))
	}
}

func lostBefore(keys []string, reason error) error {
	if reason != nil {
		return reason
	}
	return fmt.Errorf("%w: %q was lost before it was released", ErrLostHold, keys)
}

// Transfer gives the lock to another owner, and returns the new token. The new owner gets its own
// hold by Lock with WithOwner. If lease is 0, its lease is as long as the present one.
func (h *Hold) Transfer(ctx context.Context, newOwner string,
	lease time.Duration) (int64, error) {
	if len(h.keys) != 1 {
		return 0, errors.New("fairlock: only a lock of one key can be transferred")
	}
	if err := h.check(); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if lease == 0 {
		lease = h.currentLease()
	}
	h.setLeaving(true)
	defer h.setLeaving(false)
	// An interruption would leave it open who holds the lock, so the answer is always awaited.
	got := h.ask(context.Background(), h.terms.transfer(h.owner, h.token, newOwner, lease),
		h.left())
	if got.err != nil {
		return 0, translated(got.err)
	}
	token, ok := got.reply.(int64)
	if !ok {
		h.setLeaving(false)
		h.lose("the server does not know it any more")
		return 0, h.check()
	}
	h.leave()
	return token, nil
}

func (h *Hold) ask(ctx context.Context, command words, patience duration) answer {
	return startRequest(h.to, h.through, command).await(ctx, patience)
}

// leave ends the watch: there is nothing left to release.
func (h *Hold) leave() {
	if h.setReleased() {
		h.watch.timer.Stop()
		h.line.leave(h.keys, h.owner, h.listener)
	}
}
