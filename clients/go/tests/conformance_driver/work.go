package main

import (
	"context"
	"math"
	"sync"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
)

const rateSlices = 75

// tally is shared by the workers of one operation. Only the lock of the server keeps the order of
// the tokens; the mutex protects the memory.
type tally struct {
	mu      sync.Mutex
	grants  int
	last    int64
	falling bool
	failure error
}

func (t *tally) add(token int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grants++
	t.falling = t.falling || token <= t.last
	t.last = token
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failure = err
}

func (d *driver) work(ctx context.Context, r request) (reply, error) {
	var options []fairlock.Option
	if r.Lease != nil {
		options = append(options, fairlock.WithLease(duration(*r.Lease)))
	}
	options, err := d.withChannel(options, r.Channel)
	if err != nil {
		return nil, err
	}
	end := time.Now().Add(duration(r.Seconds))
	var all sync.WaitGroup
	var t tally
	for i := 0; i < r.Count; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for isFirst := true; isFirst || time.Now().Before(end); isFirst = false {
				if err := d.lockOnce(ctx, r.Key, options, &t); err != nil {
					t.fail(err)
					return
				}
			}
		}()
	}
	all.Wait()
	return reply{"grants": t.grants, "rising": !t.falling}, t.failure
}

func (d *driver) lockOnce(ctx context.Context, key string, options []fairlock.Option,
	t *tally) error {
	return fairlock.Do(ctx, d.client, key, options,
		func(_ context.Context, hold *fairlock.Hold) error {
			token, err := hold.Token()
			if err == nil {
				t.add(token)
			}
			return err
		})
}

// rate divides the time into many slices, which alternate between the two loops, and returns the
// best one of each.
func (d *driver) rate(ctx context.Context, r request) (reply, error) {
	var t tally
	best := map[string]float64{}
	for slice := 0; slice < rateSlices; slice++ {
		for name, once := range map[string]func() error{
			"library": func() error { return d.lockOnce(ctx, "rate", nil, &t) }, "raw": func() error { return d.lockRaw(ctx) }} {
			rate, err := perSecond(r.Seconds/(2*rateSlices), once)
			if err != nil {
				return nil, err
			}
			best[name] = math.Max(best[name], rate)
		}
	}
	return reply{"library": best["library"], "raw": best["raw"]}, nil
}

func (d *driver) lockRaw(ctx context.Context) error {
	token, err := d.client.Do(ctx, "LOCK", "rate:raw", "raw", "PX", 30000).Result()
	if err != nil {
		return err
	}
	return d.client.Do(ctx, "UNLOCK", "rate:raw", "raw", "TOKEN", token).Err()
}

func perSecond(seconds float64, once func() error) (float64, error) {
	begin, count := time.Now(), 0
	for time.Since(begin) < duration(seconds) {
		if err := once(); err != nil {
			return 0, err
		}
		count++
	}
	return float64(count) / time.Since(begin).Seconds(), nil
}
