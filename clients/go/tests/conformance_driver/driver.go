package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	fairlock "github.com/fairlock/fairlock/clients/go"
)

type reply map[string]interface{}

type driver struct {
	client fairlock.Client

	mu      sync.Mutex
	holds   map[string]*fairlock.Hold
	cancels map[int64]context.CancelFunc
	channel *fairlock.Channel

	writing sync.Mutex
}

func newDriver(client fairlock.Client) *driver {
	return &driver{client: client, holds: map[string]*fairlock.Hold{},
		cancels: map[int64]context.CancelFunc{}}
}

func (d *driver) write(it reply) {
	line, err := json.Marshal(it)
	if err != nil {
		panic(err)
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	fmt.Fprintf(os.Stdout, "%s\n", line)
}

// begin starts an operation. A cancellation that is read later finds it.
func (d *driver) begin(r request) {
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.cancels[r.ID] = cancel
	d.mu.Unlock()
	go func() {
		defer cancel()
		done, err := d.execute(ctx, r)
		if err != nil {
			done = failure(err)
		}
		done["id"] = r.ID
		d.write(done)
	}()
}

func failure(err error) reply {
	failed := reply{"error": "Failed", "text": err.Error()}
	for name, kind := range map[string]error{"LostHold": fairlock.ErrLostHold,
		"WaitEnded": fairlock.ErrWaitEnded, "Deadlock": fairlock.ErrDeadlock,
		"NotFairlock": fairlock.ErrNotFairlock, "Cancelled": context.Canceled,
		"Unsupported": errUnsupported} {
		if errors.Is(err, kind) {
			failed["error"] = name
		}
	}
	var denied *fairlock.DeniedError
	if errors.As(err, &denied) {
		describe(failed, denied.Explanation)
	}
	return failed
}

func describe(failed reply, why fairlock.Explanation) {
	owners := []string{}
	for _, holder := range why.Holders {
		owners = append(owners, holder.Owner)
	}
	failed["error"], failed["reason"], failed["holders"] = "Denied", why.Reason, owners
	failed["position"], failed["eta"] = nil, nil
	if why.Reason == "" {
		failed["reason"] = nil
	}
	if why.Position > 0 {
		failed["position"] = why.Position
	}
	if why.ETA >= 0 {
		failed["eta"] = why.ETA.Seconds()
	}
}

func (d *driver) sharedChannel() (*fairlock.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.channel == nil {
		channel, err := fairlock.NewChannel(d.client)
		if err != nil {
			return nil, err
		}
		d.channel = channel
	}
	return d.channel, nil
}

func (d *driver) hold(name string) (*fairlock.Hold, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hold := d.holds[name]; hold != nil {
		return hold, nil
	}
	return nil, fmt.Errorf("there is no hold %q", name)
}
