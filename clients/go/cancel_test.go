package fairlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

// cancelAtAnyTime cancels acquisitions a little later each time, and checks that nothing is left.
func (b *bench) cancelAtAnyTime(client fairlock.Client,
	options ...fairlock.Option) (granted int) {
	options = append(options, fairlock.WithOwner("me"), fairlock.WithKeep(time.Minute))
	for after := time.Duration(0); after < 2*time.Millisecond; after += 25 * time.Microsecond {
		ctx, cancel := context.WithCancel(background)
		waiting := startLock(ctx, client, "k", options...)
		time.Sleep(after)
		cancel()
		hold, err := b.result(waiting)
		if err == nil {
			granted++
			b.unlock(hold)
		} else {
			b.expect(errors.Is(err, context.Canceled), "%v", err)
		}
		b.expect(b.ask("LOCKED", "k", "me") == int64(0), "held after %v", after)
		b.expect(b.waiters("k") == "", "waiting after %v", after)
	}
	return granted
}

func TestCancelledWaitLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other", "PX", 600000)
	b.expect(b.cancelAtAnyTime(b.client()) == 0, "it was granted")
}

func TestCancelledGrantLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.cancelAtAnyTime(b.client())
}

func TestCancelledWaitOverAChannelLeavesNothing(t *testing.T) {
	b := newBench(t)
	client := b.client()
	channel := b.channel(client)
	b.cancelAtAnyTime(client, fairlock.WithChannel(channel))
	b.ask("LOCK", "k", "other", "PX", 600000)
	b.expect(b.cancelAtAnyTime(client, fairlock.WithChannel(channel)) == 0, "it was granted")
}

func TestCancelledWhileAnotherReleases(t *testing.T) {
	b := newBench(t)
	client := b.client()
	for i := 0; i < 40; i++ {
		b.ask("LOCK", "k", "other", "PX", 600000)
		ctx, cancel := context.WithCancel(background)
		waiting := startLock(ctx, client, "k", fairlock.WithOwner("me"))
		b.untilWaiting("k", "me")
		go cancel()
		b.ask("UNLOCK", "k", "other")
		if hold, err := b.result(waiting); err == nil {
			b.unlock(hold)
		}
		b.expectNothingLeft("k")
	}
}

// The reply to the request arrives long after the release that overtook it.
func TestCancelledWhileTheReplyIsUnderWay(t *testing.T) {
	b := newBench(t)
	slow := newSlowPath(b, 700*time.Millisecond)
	ctx, cancel := contextFor(100 * time.Millisecond)
	defer cancel()
	_, err := fairlock.Lock(ctx, slow.client(), "k", fairlock.WithLease(time.Hour))
	b.expect(errors.Is(err, context.DeadlineExceeded), "%v", err)
	b.expectNothingLeft("k")
}

func (b *bench) cancelWhileSending(delay time.Duration) {
	b.Helper()
	slow := newSlowPath(b, 0)
	slow.requestDelay.Store(int64(delay))
	ctx, cancel := context.WithCancel(background)
	requests := b.commands("lock")
	waiting := startLock(ctx, slow.client(), "k", fairlock.WithLease(time.Hour))
	time.Sleep(100 * time.Millisecond)
	slow.requestDelay.Store(0)
	cancel()
	_, err := b.result(waiting)
	b.expect(errors.Is(err, context.Canceled), "%v", err)
	b.until("the request has arrived", func() bool { return b.commands("lock") > requests })
}

func TestReleaseThatOvertakesTheRequest(t *testing.T) {
	b := newBench(t)
	b.cancelWhileSending(1500 * time.Millisecond)
	b.until("released", func() bool { return b.ask("LOCKED", "k") == int64(0) })
	b.ask("LOCK", "k", "other", "PX", 600000)
	b.cancelWhileSending(250 * time.Millisecond)
	b.untilWaiting("k", "")
}

func TestEndedContextDoesNotPreventTheRelease(t *testing.T) {
	b := newBench(t)
	hold := b.lock(b.client(), "k")
	ended, cancel := context.WithCancel(background)
	cancel()
	b.expect(hold.Unlock(ended) == nil, "it was not held")
	b.expectNothingLeft("k")
	_, err := fairlock.Lock(ended, b.client(), "k")
	b.expect(errors.Is(err, context.Canceled) && b.commands("lock") == 1, "%v", err)
}

func TestContextOfTheWorkEndsWithBoth(t *testing.T) {
	b := newBench(t)
	client := b.client()
	outer, cancel := context.WithCancel(background)
	defer cancel()
	options := []fairlock.Option{fairlock.WithLease(400 * time.Millisecond)}
	err := fairlock.Do(outer, client, "k", options,
		func(ctx context.Context, hold *fairlock.Hold) error {
			inner, end := context.WithCancel(ctx)
			defer end()
			b.ask("BREAK", "k")
			<-inner.Done()
			b.expect(outer.Err() == nil, "the outer context has ended")
			return ctx.Err()
		})
	b.expect(errors.Is(err, context.Canceled), "%v", err)
	err = fairlock.Do(outer, client, "k", options,
		func(ctx context.Context, hold *fairlock.Hold) error {
			cancel()
			<-ctx.Done()
			return hold.Check()
		})
	b.expect(err == nil, "the hold has ended: %v", err)
	b.expectNothingLeft("k")
}

func TestManyCancellationsAtOnce(t *testing.T) {
	b := newBench(t)
	client := b.clientWith(redis.Options{PoolSize: 200})
	b.ask("LOCK", "k", "other", "PX", 600000)
	ctx, cancel := context.WithCancel(background)
	var all sync.WaitGroup
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := fairlock.Lock(ctx, client, "k", fairlock.WithKeep(time.Minute))
			b.expect(errors.Is(err, context.Canceled), "%v", err)
		}()
	}
	time.Sleep(50 * time.Millisecond)
	cancel()
	all.Wait()
	b.expect(b.waiters("k") == "", "places are left")
}

func TestDatabaseOfTheClientIsThatOfItsLocks(t *testing.T) {
	b := newBench(t)
	third := b.clientWith(redis.Options{DB: 3})
	there := func(words ...interface{}) interface{} {
		reply, err := tell(third, words...)
		b.expect(err == nil, "%v", err)
		return reply
	}
	channel := b.channel(third)
	hold := b.lock(third, "k")
	waiting := startLock(background, third, "k", fairlock.WithChannel(channel))
	b.until("it waits", func() bool { return len(there("QUEUE", "k").([]interface{})) == 1 })
	b.expect(b.ask("LOCKED", "k") == int64(0), "it is held in database 0")
	b.unlock(hold)
	hold = b.granted(waiting)
	b.expect(b.ask("LOCKED", "k") == int64(0) && there("LOCKED", "k") == int64(1), "elsewhere")
	b.unlock(hold)
}
