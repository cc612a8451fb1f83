package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
)

var errUnsupported = errors.New("this language does not have it")

// request is one line of the input. Times are in seconds.
type request struct {
	ID      int64
	Do      string
	Hold    string
	Keys    []string
	Lease   *float64
	Wait    *float64
	Renew   *bool
	Owner   string
	Shared  bool
	Limit   *int
	MinHold *float64 `json:"min_hold"`
	Keep    *float64
	Label   string
	Meta    *string
	Channel bool
	To      string
	Acquire int64
	Key     string
	Count   int
	Seconds float64
}

func (d *driver) execute(ctx context.Context, r request) (reply, error) {
	switch r.Do {
	case "acquire":
		return d.acquire(ctx, r)
	case "try":
		return d.try(ctx, r)
	case "cancel":
		d.mu.Lock()
		cancel := d.cancels[r.Acquire]
		d.mu.Unlock()
		if cancel == nil {
			return nil, fmt.Errorf("there is no operation %d", r.Acquire)
		}
		cancel()
		return reply{"ok": true}, nil
	case "fork":
		return nil, errUnsupported
	case "work":
		return d.work(ctx, r)
	case "rate":
		return d.rate(ctx, r)
	}
	return d.use(ctx, r)
}

func (d *driver) use(ctx context.Context, r request) (reply, error) {
	hold, err := d.hold(r.Hold)
	if err != nil {
		return nil, err
	}
	var token int64
	switch r.Do {
	case "release":
		return reply{"ok": true}, hold.Unlock(ctx)
	case "renew":
		var lease time.Duration
		if r.Lease != nil {
			lease = duration(*r.Lease)
		}
		return reply{"ok": true}, hold.Renew(ctx, lease)
	case "left":
		return reply{"left": hold.Left().Seconds()}, nil
	case "check":
		return reply{"ok": true}, hold.Check()
	case "token":
		token, err = hold.Token()
	case "transfer":
		token, err = hold.Transfer(ctx, r.To, 0)
	default:
		return nil, fmt.Errorf("unknown operation %q", r.Do)
	}
	return reply{"token": token}, err
}

func (d *driver) options(r request) ([]fairlock.Option, error) {
	options := []fairlock.Option{fairlock.WithOwner(r.Owner), fairlock.WithLabel(r.Label),
		fairlock.WithOnLost(func(*fairlock.Hold) {
			d.write(reply{"event": "lost", "hold": r.Hold})
		})}
	if len(r.Keys) > 1 {
		options = append(options, fairlock.WithKeys(r.Keys[1:]...))
	}
	if r.Lease != nil {
		options = append(options, fairlock.WithLease(duration(*r.Lease)))
	}
	if r.Wait != nil {
		options = append(options, fairlock.WithWait(duration(*r.Wait)))
	}
	if r.Renew != nil && !*r.Renew {
		options = append(options, fairlock.WithoutRenewal())
	}
	if r.Shared {
		options = append(options, fairlock.WithShared())
	}
	if r.Limit != nil {
		options = append(options, fairlock.WithLimit(*r.Limit))
	}
	if r.MinHold != nil {
		options = append(options, fairlock.WithMinHold(duration(*r.MinHold)))
	}
	if r.Keep != nil {
		options = append(options, fairlock.WithKeep(duration(*r.Keep)))
	}
	if r.Meta != nil {
		options = append(options, fairlock.WithMeta(*r.Meta))
	}
	return d.withChannel(options, r.Channel)
}

func (d *driver) withChannel(options []fairlock.Option, uses bool) ([]fairlock.Option, error) {
	if !uses {
		return options, nil
	}
	channel, err := d.sharedChannel()
	return append(options, fairlock.WithChannel(channel)), err
}

func (d *driver) acquire(ctx context.Context, r request) (reply, error) {
	options, err := d.options(r)
	if err != nil {
		return nil, err
	}
	hold, err := fairlock.Lock(ctx, d.client, r.Keys[0], options...)
	return d.keep(r, hold, err)
}

func (d *driver) try(ctx context.Context, r request) (reply, error) {
	options, err := d.options(r)
	if err != nil {
		return nil, err
	}
	hold, err := fairlock.TryLock(ctx, d.client, r.Keys[0], options...)
	if errors.Is(err, fairlock.ErrDenied) {
		return reply{"token": nil}, nil
	}
	return d.keep(r, hold, err)
}

func (d *driver) keep(r request, hold *fairlock.Hold, err error) (reply, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.holds[r.Hold] = hold
	d.mu.Unlock()
	token, err := hold.Token()
	return reply{"token": token, "owner": hold.Owner()}, err
}
