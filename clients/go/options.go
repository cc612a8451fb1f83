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
	wait    *duration // nil means no end
	renews  bool
	channel *Channel
	onLost  func(*Hold)
}

// The server accepts no longer times.
const timeMax = 365 * 24 * time.Hour

func newSettings(key string, options []Option) (*settings, error) {
	wanted := &settings{terms: terms{keys: []string{key}, lease: defaultLease}, renews: true}
	for _, option := range options {
		if option != nil {
			option(wanted)
		}
	}
	if err := wanted.check(); err != nil {
		return nil, err
	}
	wanted.isNamed = wanted.owner != ""
	if !wanted.isNamed {
		wanted.owner = makeOwner()
	}
	return wanted, nil
}

// check refuses values that cannot be intended, before anything is sent.
func (s *settings) check() error {
	if err := checkTime("the lease", s.lease, false); err != nil {
		return err
	}
	for _, it := range []struct {
		name string
		time *duration
	}{{"the wait", s.wait}, {"the time to keep a place", s.keep}, {"the minimal hold", s.minHold}} {
		if it.time != nil {
			if err := checkTime(it.name, *it.time, true); err != nil {
				return err
			}
		}
	}
	switch {
	case s.limit != nil && *s.limit < 1:
		return fmt.Errorf("fairlock: the limit must be at least 1, got %d", *s.limit)
	case s.maxWaiters != nil && *s.maxWaiters < 0:
		return fmt.Errorf("fairlock: the number of waiters must not be negative, got %d",
			*s.maxWaiters)
	case s.shared && s.limit != nil:
		return errors.New("fairlock: a lock is either shared or has a limit, got both")
	}
	return nil
}

// checkTime refuses a plain number, which would be nanoseconds, and what the server would refuse.
func checkTime(name string, d duration, mayBeZero bool) error {
	switch {
	case d == 0 && mayBeZero:
		return nil
	case d < time.Millisecond:
		return fmt.Errorf("fairlock: %s must be at least 1ms, got %v: a time has a unit, as in "+
			"30*time.Second", name, d)
	case d > timeMax:
		return fmt.Errorf("fairlock: %s must be at most 365 days, got %v: without the option, a "+
			"wait has no end", name, d)
	}
	return nil
}

// WithKeys adds keys. All keys are taken together, or none.
func WithKeys(more ...string) Option {
	return func(s *settings) { s.keys = append(s.keys, more...) }
}

// WithLease is the time after which the server passes the lock on unless the lease is renewed. The
// default is 30 s. This and all other times are 1 ms to 365 days.
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
