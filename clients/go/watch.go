package fairlock

import (
	"context"
	"time"
)

// start renews the hold until it ends, and reports its loss.
func (h *Hold) start(wanted *settings) {
	go func() {
		if h.watch(wanted.renews) && wanted.onLost != nil {
			wanted.onLost(h)
		}
	}()
}

// watch runs until the hold has ended. It returns whether the hold is lost.
func (h *Hold) watch(renews bool) bool {
	for {
		next := h.left()
		if renews {
			next = h.renewIn()
		}
		h.pause(next)
		isOver, isLost := h.isEnded()
		switch {
		case isOver:
			return false
		case isLost:
			return true
		case renews && h.renewIn() <= 0:
			h.renewUntilAnswered()
		}
	}
}

// pause ends early when the hold ends or is renewed.
func (h *Hold) pause(d duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.wake:
	case <-h.ctx.Done():
	}
}

// renewUntilAnswered asks again while the lease lasts: the server may be restarting.
func (h *Hold) renewUntilAnswered() {
	var attempts backoff
	for {
		isOver, isLost := h.isEnded()
		if isOver || isLost {
			return
		}
		err := h.askRenewal(h.ctx, h.currentLease())
		if err == nil {
			return
		}
		if h.ctx.Err() == nil {
			warn("renewing %q: %v", h.keys, err)
		}
		h.pause(shorter(attempts.pause(err), h.left()))
	}
}

func (h *Hold) askRenewal(ctx context.Context, lease duration) error {
	h.renewal.Lock()
	defer h.renewal.Unlock()
	begunAt := now()
	got := h.ask(ctx, h.terms.renew(h.owner, h.token, lease), h.left())
	switch {
	case got.err != nil:
		h.shorten(lease, begunAt)
		return got.err
	case got.reply == int64(1):
		h.confirm(lease, got.sentAt)
	default:
		h.lose("the server does not know it any more")
	}
	return nil
}

// hear takes note of a message on the channel.
func (h *Hold) hear(it message) {
	if it.event == "lost" && it.token == h.token {
		h.lose("the server reported: " + it.reason)
	}
}
