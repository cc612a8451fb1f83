package fairlock

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Hold is a lock that is held. Its lease is renewed until it is released, or until neither the hold
// nor one of its contexts is referred to any more: then a warning is written, and the lease ends the
// hold. The first renewal takes place in any case.
type Hold struct{ it *holding }

func newHold(ctx context.Context, a *acquisition, got grant) *Hold {
	hold := &Hold{newHolding(ctx, a, got)}
	hold.it.startWatch(hold, a.settings, got)
	return hold
}

// mayBeDropped is not called for most holds: they are released before their first renewal.
func (h *Hold) mayBeDropped() {
	runtime.SetFinalizer(h, func(dropped *Hold) {
		if !dropped.it.hasLeft() {
			go dropped.it.drop()
		}
	})
}

// Keys returns the keys that are held.
func (h *Hold) Keys() []string { return append([]string(nil), h.it.keys...) }

// Owner returns the owner, as the server knows it.
func (h *Hold) Owner() string { return h.it.owner }

// Token returns the fencing token, to be sent with every write. The error is that of Check.
func (h *Hold) Token() (int64, error) {
	if err := h.it.check(); err != nil {
		return 0, err
	}
	return h.it.token, nil
}

// Check returns ErrLostHold if the lock is lost or released, or if its lease may have ended. It
// sends nothing.
func (h *Hold) Check() error { return h.it.check() }

// Left returns the time for which the lease lasts at least, unless it is renewed.
func (h *Hold) Left() time.Duration { return h.it.left() }

// Context returns a context that ends when the hold is lost or released.
func (h *Hold) Context() context.Context {
	ctx, end := h.it.context()
	return holdContext{ctx, h, end}
}

// Renew renews the lease now. If lease is not 0, it is the length of the lease from now on. A renewal
// never makes a lease end earlier than before.
func (h *Hold) Renew(ctx context.Context, lease time.Duration) error {
	defer runtime.KeepAlive(h)
	if err := checkTime("the lease", lease, true); err != nil {
		return err
	}
	return h.it.renewNow(ctx, lease)
}

// Unlock releases the lock. It returns ErrLostHold if the lock was not held until now, even if that
// is because it was released before. An ended context does not prevent the release: the server is
// asked once, and is asked again for 5 s or until ctx ends if it cannot be reached. After that, the
// end of the lease ends the hold.
func (h *Hold) Unlock(ctx context.Context) error {
	defer runtime.KeepAlive(h)
	return h.it.release(ctx)
}

// Transfer gives the lock to another owner, and returns the new token. The new owner gets its own
// hold by Lock with WithOwner. If lease is 0, its lease is as long as the present one. From the
// request on, this hold is not held any more, unless the server refuses the transfer. The end of
// ctx does not interrupt a transfer, because it would then be unknown who holds the lock.
func (h *Hold) Transfer(ctx context.Context, newOwner string,
	lease time.Duration) (int64, error) {
	defer runtime.KeepAlive(h)
	switch {
	case len(h.it.keys) != 1:
		return 0, errors.New("fairlock: only a lock of one key can be transferred")
	case newOwner == "":
		return 0, errors.New("fairlock: the new owner must have a name")
	}
	if err := checkTime("the lease", lease, true); err != nil {
		return 0, err
	}
	return h.it.transfer(ctx, newOwner, lease)
}
