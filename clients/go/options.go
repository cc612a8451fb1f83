package fairlock

import (
	"errors"
	"fmt"
	"time"
)

type duration = time.Duration

const defaultLease = 30 * time.Second

// Option is an option of Lock, TryLock and Do.
type Option func(*settings)

type settings struct {
	terms
	owner   string
	isNamed bool      // the owner was given, and may have been used before
	wait    *duration // nil: no end
	renews  bool
	channel *Channel
	onLost  func(*Hold)
}

func newSettings(key string, options []Option) (*settings, error) {
	wanted := &settings{terms: terms{keys: []string{key}, lease: defaultLease}, renews: true}
	for _, option := range options {
		option(wanted)
	}
	if wanted.lease <= 0 {
		return nil, fmt.Errorf("fairlock: the lease must be greater than 0, got %v", wanted.lease)
	}
	if wanted.shared && wanted.limit != nil {
		return nil, errors.New("fairlock: a lock is either shared or has a limit, got both")
	}
	wanted.isNamed = wanted.owner != ""
	if !wanted.isNamed {
		wanted.owner = makeOwner()
	}
	return wanted, nil
}

// WithKeys adds keys. All keys are taken together, or none.
func WithKeys(more ...string) Option {
	return func(s *settings) { s.keys = append(s.keys, more...) }
}

// WithLease is the time after which the server passes the lock on unless the lease is renewed. The
// default is 30 s.
func WithLease(lease time.Duration) Option {
	return func(s *settings) { s.lease = lease }
}

// WithWait limits the wait; then the error is ErrDenied. Without this option, only the context ends
// the wait. 0 does not wait.
func WithWait(wait time.Duration) Option {
	return func(s *settings) { s.wait = &wait }
}

// WithoutRenewal lets the hold end with its lease. Without this option, the lease is renewed each
// time a third of it is left.
func WithoutRenewal() Option {
	return func(s *settings) { s.renews = false }
}

// WithOwner names the owner. By default, each acquisition has its own, made from the host, the
// process and a random part. Executions that may overlap need different owners.
func WithOwner(owner string) Option {
	return func(s *settings) { s.owner = owner }
}

// WithShared takes a shared lock: any number of shared holds, or one exclusive hold.
func WithShared() Option {
	return func(s *settings) { s.shared = true }
}

// WithLimit makes the lock a semaphore: at most this many holds at a time.
func WithLimit(limit int) Option {
	return func(s *settings) { s.limit = &limit }
}

// WithKeep is how long the place in the queue is kept for an owner that does not ask, for example
// while it reconnects. When its turn comes, the lock is reserved for it.
func WithKeep(keep time.Duration) Option {
	return func(s *settings) { s.keep = &keep }
}

// WithMinHold is how long the key stays taken after the grant, even if it is released earlier.
func WithMinHold(minHold time.Duration) Option {
	return func(s *settings) { s.minHold = &minHold }
}

// WithMaxWaiters denies the lock instead of waiting if this many others wait already.
func WithMaxWaiters(waiters int) Option {
	return func(s *settings) { s.maxWaiters = &waiters }
}

// WithMeta is shown to others with the owner.
func WithMeta(meta string) Option {
	return func(s *settings) { s.meta = &meta }
}

// WithLabel names the kind of lock, for statistics.
func WithLabel(label string) Option {
	return func(s *settings) { s.label = label }
}

// WithChannel waits on the shared connection of a Channel.
func WithChannel(channel *Channel) Option {
	return func(s *settings) { s.channel = channel }
}

// WithOnLost is called once, in another goroutine, if the hold is lost.
func WithOnLost(onLost func(*Hold)) Option {
	return func(s *settings) { s.onLost = onLost }
}
