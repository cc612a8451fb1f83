// Package fairlock takes fair locks with fencing tokens from a fairlock server, over go-redis.
//
//	hold, err := fairlock.Lock(ctx, client, "order:42", fairlock.WithWait(10*time.Second))
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return charge(hold.Context(), 42)
//
// All functions and methods may be called by several goroutines at once.
package fairlock

import (
	"context"
	"errors"
)

// Version is the version of this package.
const Version = "0.1.0"

// Lock takes a lock and returns the hold. It waits until the lock is granted, the time of WithWait
// is over (ErrDenied), or ctx ends. If ctx ends, the place in the queue is given up before Lock
// returns. The hold does not depend on ctx.
func Lock(ctx context.Context, client Client, key string, options ...Option) (*Hold, error) {
	wanted, err := newSettings(key, options)
	if err != nil {
		return nil, err
	}
	return take(ctx, client, wanted)
}

// TryLock is Lock without waiting: if the lock is not free, the error is ErrDenied at once.
func TryLock(ctx context.Context, client Client, key string, options ...Option) (*Hold, error) {
	wanted, err := newSettings(key, options)
	if err != nil {
		return nil, err
	}
	wanted.wait = new(duration)
	return take(ctx, client, wanted)
}

// Do takes a lock, calls work and releases the lock, even if work panics. The context of work ends
// with ctx and with the hold. The error is that of work; if work has none, but the lock was lost
// meanwhile, it is ErrLostHold.
func Do(ctx context.Context, client Client, key string, options []Option,
	work func(ctx context.Context, hold *Hold) error) (err error) {
	hold, err := Lock(ctx, client, key, options...)
	if err != nil {
		return err
	}
	defer func() {
		if hold.it.hasLeft() {
			return
		}
		if lost := hold.Unlock(ctx); err == nil {
			err = lost
		}
	}()
	during, end := hold.under(ctx)
	defer end()
	return work(during, hold)
}

func take(ctx context.Context, client Client, wanted *settings) (*Hold, error) {
	if err := ctx.Err(); err != nil {
		return nil, about(wanted.keys, err)
	}
	l, err := linkOf(client)
	if err != nil {
		return nil, err
	}
	if wanted.channel != nil && wanted.channel.link != l {
		l.leave()
		return nil, errors.New("fairlock: the channel was made with another client")
	}
	a := newAcquisition(l, wanted)
	got, err := a.run(ctx)
	if err != nil {
		a.abandon(err)
		return nil, about(wanted.keys, err)
	}
	return newHold(ctx, a, got), nil
}
