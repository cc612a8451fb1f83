package fairlock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A release, or a transfer, is repeated for this time.
const repeatMax = 5 * time.Second

// Hold is a lock that is held.
type Hold struct {
	holdState
	terms   *terms
	to      route
	through *gates
	owner   string
	watch   watch

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

// Renew renews the lease now. If lease is not 0, it is the length of the lease from now on. A renewal
// never makes a lease end earlier than before.
func (h *Hold) Renew(ctx context.Context, lease time.Duration) error {
	if err := h.check(); err != nil {
		return err
	}
	if lease == 0 {
		lease = h.currentLease()
	}
	err := h.askRenewal(ctx, lease)
	if err == nil {
		h.setLease(lease)
	}
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
	giveUpAt := now() + repeatMax
	var attempts backoff
	for {
		got := h.ask(context.Background(), h.terms.unlock(h.owner, h.token), repeatMax)
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
// hold by Lock with WithOwner. If lease is 0, its lease is as long as the present one. From the
// request on, this hold is not held any more, unless the server refuses the transfer. The end of ctx
// does not interrupt a transfer, which would leave it open who holds the lock.
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
	h.beginTransfer(newOwner)
	defer h.endTransfer()
	token, err := h.askTransfer(newOwner, lease)
	if err != nil {
		return 0, translated(err)
	}
	if token == nil {
		h.lose(unknown)
		h.endTransfer()
		return 0, h.check()
	}
	h.leave()
	return *token, nil
}

// askTransfer asks again while the server cannot be reached: the token in the command lets only one
// of the requests succeed. It returns nil if none did.
func (h *Hold) askTransfer(newOwner string, lease duration) (*int64, error) {
	giveUpAt := now() + repeatMax
	var attempts backoff
	for isRepeated := false; ; isRepeated = true {
		got := h.ask(context.Background(), h.terms.transfer(h.owner, h.token, newOwner, lease),
			repeatMax)
		if got.err == nil && (got.reply != nil || !isRepeated) {
			return tokenOf(got.reply), nil
		}
		if got.err == nil {
			got = h.ask(context.Background(), h.terms.info(), repeatMax)
		}
		_, isLost := h.ending()
		switch {
		case got.err == nil && isLost:
			return nil, nil
		case got.err == nil:
			return newerToken(newOwner, h.token, got.reply), nil
		case isLost || now() >= giveUpAt:
			return nil, got.err
		case !isTemporary(got.err):
			if !isRepeated {
				h.refuseTransfer()
			}
			return nil, got.err
		}
		sleep(context.Background(), attempts.pause(got.err))
	}
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
