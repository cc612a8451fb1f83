package fairlock_test

import (
	"context"
	"errors"
	"log"
	"runtime"
	"strings"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
)

func ended() context.Context {
	ctx, cancel := context.WithCancel(background)
	cancel()
	return ctx
}

// kinds are kinds of locks, of which some exclude each other and some do not.
var kinds = []struct {
	name         string
	outer, inner []fairlock.Option
	isGranted    bool
}{
	{"exclusive in exclusive", nil, nil, false},
	{"exclusive in shared", []fairlock.Option{fairlock.WithShared()}, nil, false},
	{"shared in exclusive", nil, []fairlock.Option{fairlock.WithShared()}, false},
	{"shared in shared", []fairlock.Option{fairlock.WithShared()},
		[]fairlock.Option{fairlock.WithShared()}, true},
	{"semaphore", []fairlock.Option{fairlock.WithLimit(2)},
		[]fairlock.Option{fairlock.WithLimit(2)}, true},
	{"one of several", []fairlock.Option{fairlock.WithKeys("x", "j")},
		[]fairlock.Option{fairlock.WithKeys("j", "z")}, false},
	{"the same owner", []fairlock.Option{fairlock.WithOwner("me")},
		[]fairlock.Option{fairlock.WithOwner("me")}, true},
	{"with an end of the wait", nil, []fairlock.Option{fairlock.WithWait(time.Hour)}, false},
	{"kept place", nil, []fairlock.Option{fairlock.WithKeep(time.Minute)}, false},
}

func TestNestedLockSaysSoAtOnce(t *testing.T) {
	b := newBench(t)
	client := b.client()
	type key struct{}
	for _, kind := range kinds {
		hold := b.lock(client, "k", kind.outer...)
		for _, over := range []*fairlock.Channel{nil, b.channel(client)} {
			inner := append([]fairlock.Option{fairlock.WithChannel(over)}, kind.inner...)
			ctx, cancel := context.WithTimeout(
				context.WithValue(hold.Context(), key{}, 1), waitMax)
			nested, err := fairlock.Lock(ctx, client, "k", inner...)
			b.expect((err == nil) == kind.isGranted && ctx.Err() == nil, "%s: %v", kind.name, err)
			if err == nil && kind.name != "the same owner" {
				b.unlock(nested)
			}
			if err != nil {
				b.expect(errors.Is(err, fairlock.ErrDeadlock) &&
					strings.Contains(err.Error(), "this context holds ") &&
					strings.Contains(err.Error(), hold.Owner()), "%s: %v", kind.name, err)
			}
			b.expect(b.waiters("k") == "", "%s: it still waits", kind.name)
			cancel()
		}
		b.unlock(hold)
	}
	b.expectNothingLeft("k", "x", "j", "z")
}

func TestNestedLockOfAnOuterHold(t *testing.T) {
	b := newBench(t)
	client := b.client()
	err := fairlock.Do(background, client, "a", nil,
		func(ctx context.Context, _ *fairlock.Hold) error {
			inner, err := fairlock.Lock(ctx, client, "b")
			if err != nil {
				return err
			}
			defer inner.Unlock(background)
			for _, under := range []context.Context{ctx, inner.Context()} {
				_, err = fairlock.TryLock(under, client, "a")
				b.expect(errors.Is(err, fairlock.ErrDenied), "%v", err)
				_, err = fairlock.Lock(under, client, "a")
				b.expect(errors.Is(err, fairlock.ErrDeadlock), "%v", err)
			}
			_, err = fairlock.Lock(inner.Context(), client, "b")
			b.expect(errors.Is(err, fairlock.ErrDeadlock), "%v", err)
			return nil
		})
	b.expect(err == nil, "%v", err)
}

// A context may outlive its hold; other clients and other keys are not concerned.
func TestWhatIsNotNested(t *testing.T) {
	b := newBench(t)
	client := b.client()
	hold := b.lock(client, "k")
	ctx, cancel := context.WithTimeout(hold.Context(), waitMax)
	defer cancel()
	other, err := fairlock.Lock(ctx, client, "other")
	b.expect(err == nil, "%v", err)
	b.unlock(other)
	waiting := startLock(ctx, b.client(), "k", fairlock.WithOwner("elsewhere"))
	b.untilWaiting("k", "elsewhere")
	during := fairlock.Do(background, client, "j", nil,
		func(ctx context.Context, inner *fairlock.Hold) error {
			b.unlock(inner)
			next, err := fairlock.Lock(detached{background, ctx}, client, "j")
			if err == nil {
				b.unlock(next)
			}
			return err
		})
	b.expect(during == nil, "%v", during)
	b.unlock(hold)
	_, err = b.result(waiting)
	// The context of the wait was that of the hold.
	b.expect(errors.Is(err, context.Canceled), "%v", err)
	b.expectNothingLeft("k", "j")
}

// detached has the values of another context, but does not end with it.
type detached struct {
	context.Context
	values context.Context
}

func (d detached) Value(key interface{}) interface{} { return d.values.Value(key) }

func (b *bench) untilCollected(what string, condition func() bool) {
	b.Helper()
	b.until(what, func() bool {
		runtime.GC()
		return condition()
	})
}

// This test runs alone, because all tests share the log.
func TestDroppedHoldIsNotRenewed(t *testing.T) {
	b := benchOn(t, newEphemeralServer(t))
	kept := &lines{}
	fairlock.SetLogger(log.New(kept, "", 0))
	defer fairlock.SetLogger(nil)
	client := b.client()
	lost := make(chan string, 3)
	options := []fairlock.Option{fairlock.WithLease(600 * time.Millisecond), fairlock.WithOnLost(
		func(hold *fairlock.Hold) { lost <- hold.Keys()[0] })}
	b.lock(client, "dropped", options...)
	inUse := b.lock(client, "in use", options...)
	during := b.lock(client, "context", options...).Context()
	b.lock(client, "with channel", append(options, fairlock.WithChannel(b.channel(client)))...)
	b.untilCollected("free", func() bool {
		return b.ask("LOCKED", "dropped") == int64(0) && b.ask("LOCKED", "with channel") == int64(0)
	})
	for _, key := range []string{"dropped", "with channel"} {
		b.expect(kept.have(`a hold of ["`+key+`"] was dropped`), "%s", &kept.text)
	}
	first, second := <-lost, <-lost
	b.expect(first != second && len(lost) == 0, "%s, %s", first, second)
	b.expectHeld(inUse)
	b.expect(b.ask("LOCKED", "context") == int64(1) && during.Err() == nil, "it has ended")
	b.unlock(inUse)
	runtime.KeepAlive(during)
	b.untilCollected("free", func() bool { return b.ask("LOCKED", "context") == int64(0) })
	fairlock.CloseIfIdle(t, client)
	b.expect(fairlock.HasLink(client), "the channel needs it")
}
