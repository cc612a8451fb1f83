package fairlock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A release, or a transfer, is repeated for this time.
const repeatMax = 5 * time.Second

// holding is a hold without the reference that the program has. So what renews it does not keep
// the reference alive.
type holding struct {
	holdState
	terms *terms
	link  *link
	to    route
	owner string
	watch watch
	outer *holding // what the context of the acquisition carries

	releasing sync.Mutex

	line     *line // nil if it did not wait over a channel
	listener *listener
}

func newHolding(ctx context.Context, a *acquisition, got grant) *holding {
	h := &holding{holdState: newHoldState(a.keys, a.lease, got), terms: &a.terms, link: a.link,
		to: a.to, owner: a.owner, outer: carriedBy(ctx), line: a.line}
	if a.line != nil {
		h.listener = &listener{h.hear}
		a.line.listeners.set(a.keys, a.owner, h.listener)
		for _, it := range a.mail.takeAll() {
			h.hear(it) // The message arrived during the acquisition.
		}
	}
	return h
}

// drop is called when the program cannot release the hold any more.
func (h *holding) drop() {
	isOver, isLost := h.ending()
	if !isOver && !isLost {
		warn("a hold of %q was dropped without Unlock; its lease is not renewed any more", h.keys)
	}
	h.stopRenewal()
}

func (h *holding) renewNow(ctx context.Context, lease duration) error {
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
		return about(h.keys, translated(err))
	}
	return h.check()
}

// release ends the hold by its first call. Others wait for that one, and find the hold released.
func (h *holding) release(ctx context.Context) error {
	h.releasing.Lock()
	defer h.releasing.Unlock()
	if h.hasLeft() {
		return h.check()
	}
	defer h.leave()
	reason, isRepeated := h.beginRelease(), false
	var giveUpAt duration
	var attempts backoff
	for {
		got := h.ask(h.terms.unlock(h.owner, h.token))
		if got.err == nil {
			// The first of two requests may have been executed although its reply was lost.
			if reason == nil && !isRepeated && got.reply != int64(len(h.keys)) {
				return fmt.Errorf("%w: %q was lost before it was released", ErrLostHold, h.keys)
			}
			return reason
		}
		if !isRepeated {
			giveUpAt = now() + repeatMax
		}
		if !isTemporary(got.err) || now() >= giveUpAt || ctx.Err() != nil {
			warn("releasing %q: %v", h.keys, got.err)
			return reason
		}
		isRepeated = true
		sleep(ctx, attempts.pause(got.err))
	}
}

func (h *holding) transfer(ctx context.Context, newOwner string, lease duration) (int64, error) {
	if err := h.check(); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, about(h.keys, err)
	}
	if lease == 0 {
		lease = h.currentLease()
	}
	h.beginTransfer(newOwner)
	defer h.endTransfer()
	token, err := h.askTransfer(newOwner, lease)
	if err != nil {
		return 0, about(h.keys, translated(err))
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
func (h *holding) askTransfer(newOwner string, lease duration) (*int64, error) {
	giveUpAt := now() + repeatMax
	var attempts backoff
	for isRepeated := false; ; isRepeated = true {
		got := h.ask(h.terms.transfer(h.owner, h.token, newOwner, lease))
		if got.err == nil && (got.reply != nil || !isRepeated) {
			return tokenOf(got.reply), nil
		}
		if got.err == nil {
			got = h.ask(h.terms.info())
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

// ask sends a request that the end of a context does not prevent.
func (h *holding) ask(command words) answer { return ask(context.Background(), h.to, command) }

// leave ends the watch: there is nothing left to release.
func (h *holding) leave() {
	if h.setReleased() {
		h.watch.timer.Stop()
		h.line.leave(h.keys, h.owner, h.listener)
		h.link.leave()
	}
}
