package fairlock

import (
	"context"
	"sync"
	"time"
)

// unknown is the reason if the server no longer knows the hold.
const unknown = "the server does not know it any more"

// watch renews a hold until it ends, and reports its loss. It has a goroutine only while it does.
type watch struct {
	renews bool
	onLost func(*Hold)

	mu         sync.Mutex // held during each turn
	hold       *Hold      // keeps the hold in use until the first turn
	timer      *time.Timer
	isReported bool
	isDropped  bool
}

func (h *holding) startWatch(hold *Hold, wanted *settings, got grant) {
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	h.watch.hold, h.watch.renews, h.watch.onLost = hold, wanted.renews, wanted.onLost
	first := wanted.lease - (got.answeredAt - got.sentAt)
	if wanted.renews {
		first -= wanted.lease / 3
	}
	h.watch.timer = time.AfterFunc(first, h.turn)
	h.holdState.onLoss(h.hurry)
}

// hurry makes the next turn begin at once.
func (h *holding) hurry() { h.watch.timer.Reset(0) }

func (h *holding) nextTurn() duration {
	if h.watch.renews {
		return h.renewIn()
	}
	return h.left()
}

func (h *holding) turn() {
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	isOver, isLost := h.ending()
	if h.watch.hold != nil && !isOver {
		h.watch.hold.mayBeDropped()
	}
	h.watch.hold = nil
	if !isOver && !isLost && h.watch.renews && h.renewIn() <= 0 {
		h.renewUntilAnswered()
		isOver, isLost = h.ending()
	}
	switch {
	case isOver:
	case !isLost:
		h.watch.timer.Reset(h.nextTurn())
	case !h.watch.isReported:
		h.watch.isReported = true
		if h.watch.onLost != nil {
			go h.watch.onLost(&Hold{h})
		}
	}
	if isLost && h.watch.isDropped {
		h.leave()
	}
}

// stopRenewal lets the lease end the hold.
func (h *holding) stopRenewal() {
	h.watch.mu.Lock()
	h.watch.renews, h.watch.isDropped = false, true
	h.watch.mu.Unlock()
	if isOver, _ := h.ending(); !isOver {
		h.hurry()
	}
}

// renewUntilAnswered asks again while the lease lasts: the server may be restarting.
func (h *holding) renewUntilAnswered() {
	ctx, _ := h.context()
	var attempts backoff
	for ctx.Err() == nil {
		err := h.askRenewal(ctx, h.currentLease())
		if err == nil || ctx.Err() != nil {
			return
		}
		warn("renewing %q: %v", h.keys, err)
		sleep(ctx, shorter(attempts.pause(err), h.left()))
		h.ending() // The lease may have ended.
	}
}

// askRenewal renews once. A refusal is final, because a token never returns.
func (h *holding) askRenewal(ctx context.Context, lease duration) error {
	ctx, cancel := context.WithTimeout(ctx, h.left())
	defer cancel()
	got := askUntilEnd(ctx, h.to, h.terms.renew(h.owner, h.token, lease))
	switch {
	case got.err != nil:
		return got.err
	case got.reply == int64(1):
		h.extend(got.sentAt + lease)
	default:
		h.lose(unknown)
	}
	return nil
}

// hear takes note of a message on the channel.
func (h *holding) hear(it message) {
	if it.event == "lost" && it.token == h.token {
		h.lose("the server reported: " + it.reason)
	}
}
