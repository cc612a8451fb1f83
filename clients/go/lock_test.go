package fairlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func TestHoldsTheLockUntilItIsReleased(t *testing.T) {
	b := newBench(t)
	hold := b.lock(b.client(), "order:42", fairlock.WithWait(10*time.Second))
	b.expectHeld(hold)
	b.expect(b.ask("LOCKED", "order:42", hold.Owner()) == int64(1), "another owner holds it")
	b.expect(hold.Left() > 29*time.Second, "it lasts for %v", hold.Left())
	during := hold.Context()
	b.expect(during.Err() == nil, "the context has ended")
	b.unlock(hold)
	b.expectNothingLeft("order:42")
	b.expect(errors.Is(hold.Check(), fairlock.ErrLostHold), "%v", hold.Check())
	b.expect(errors.Is(hold.Unlock(background), fairlock.ErrLostHold), "released twice")
	<-during.Done()
}

func TestDenialNamesTheHolderAndThePosition(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other", "PX", 20000, "META", "at work", "LABEL", "jobs")
	_, err := fairlock.TryLock(background, b.client(), "k", fairlock.WithKeep(5*time.Second))
	var denied *fairlock.DeniedError
	if !errors.As(err, &denied) || !errors.Is(err, fairlock.ErrDenied) {
		t.Fatal(err)
	}
	why := denied.Explanation
	b.expect(why.Status == "queued" && why.Reason == "held" && why.Position == 1, "%+v", why)
	holder := why.Holders[0]
	b.expect(holder.Owner == "other" && holder.Meta == "at work" && holder.Label == "jobs" &&
		holder.Mode == "exclusive" && holder.TTL > 15*time.Second, "%+v", holder)
	b.expect(strings.Contains(err.Error(), "held by other for ") &&
		strings.Contains(err.Error(), "; position 1 is kept; 1 waiting"), "%v", err)
}

func TestWaitEndsAtItsTime(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other")
	begin := time.Now()
	_, err := fairlock.Lock(background, b.client(), "k", fairlock.WithWait(200*time.Millisecond))
	b.expect(time.Since(begin) >= 200*time.Millisecond, "it ended after %v", time.Since(begin))
	var denied *fairlock.DeniedError
	if !errors.As(err, &denied) {
		t.Fatal(err)
	}
	b.expect(denied.Explanation.Status == "timeout", "%+v", denied)
	b.expect(b.waiters("k") == "", "it still waits")
}

func TestSharedLimitedAndManyKeys(t *testing.T) {
	b := newBench(t)
	client := b.client()
	denied := func(key string, options ...fairlock.Option) {
		t.Helper()
		_, err := fairlock.TryLock(background, client, key, options...)
		b.expect(errors.Is(err, fairlock.ErrDenied), "%v", err)
	}
	reader := b.lock(client, "read", fairlock.WithShared())
	other := b.lock(client, "read", fairlock.WithShared())
	denied("read")
	first := b.lock(client, "pool", fairlock.WithLimit(2))
	second := b.lock(client, "pool", fairlock.WithLimit(2))
	b.expect(b.token(first) < b.token(second), "tokens do not rise")
	denied("pool", fairlock.WithLimit(2))
	both := b.lock(client, "a", fairlock.WithKeys("b", "c"))
	b.expectHeld(both)
	_, err := fairlock.TryLock(background, client, "x", fairlock.WithKeys("c"))
	var why *fairlock.DeniedError
	b.expect(errors.As(err, &why) && why.Explanation.Key == "c", "%v", err)
	b.expect(both.Renew(background, time.Minute) == nil, "MRENEW")
	b.expect(b.ask("PTTL", "c").(int64) > 31000, "the lease is not longer")
	for _, hold := range []*fairlock.Hold{reader, other, first, second, both} {
		b.unlock(hold)
	}
	b.expectNothingLeft("read", "pool", "a", "b", "c", "x")
}

func TestMinHoldAndMaxWaiters(t *testing.T) {
	b := newBench(t)
	client := b.client()
	b.unlock(b.lock(client, "k", fairlock.WithMinHold(time.Minute)))
	reason := func(options ...fairlock.Option) string {
		_, err := fairlock.Lock(background, client, "k", options...)
		var denied *fairlock.DeniedError
		if !errors.As(err, &denied) {
			t.Fatal(err)
		}
		return denied.Explanation.Reason
	}
	b.expect(reason(fairlock.WithWait(0)) == "cooling", "MINHOLD")
	b.expect(reason(fairlock.WithMaxWaiters(0)) == "full", "MAXWAITERS")
}

func TestTransferGivesTheLockToAnotherOwner(t *testing.T) {
	b := newBench(t)
	client := b.client()
	lost := make(chan *fairlock.Hold, 1)
	hold := b.lock(client, "k", fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	token, err := hold.Transfer(background, "worker-2", 0)
	if err != nil {
		t.Fatal(err)
	}
	b.expect(errors.Is(hold.Check(), fairlock.ErrLostHold), "%v", hold.Check())
	mine := b.lock(client, "k", fairlock.WithOwner("worker-2"))
	b.expect(b.token(mine) == token, "another token")
	b.ask("BREAK", "k")
	_, err = mine.Transfer(background, "worker-3", 0)
	b.expect(errors.Is(err, fairlock.ErrLostHold), "%v", err)
	b.expect(len(lost) == 0, "a transfer is not a loss")
	_, err = b.lock(client, "a", fairlock.WithKeys("b")).Transfer(background, "c", 0)
	b.expect(err != nil, "a transfer of two keys")
}

func TestKeptPlaceOfAGivenOwner(t *testing.T) {
	b := newBench(t)
	client := b.client()
	b.ask("LOCK", "k", "other")
	mine := []fairlock.Option{fairlock.WithOwner("job:1"), fairlock.WithKeep(20 * time.Second)}
	_, err := fairlock.TryLock(background, client, "k", mine...)
	b.expect(errors.Is(err, fairlock.ErrDenied) && b.waiters("k") == "job:1", "%v", err)
	b.ask("UNLOCK", "k", "other")
	_, err = fairlock.TryLock(background, client, "k")
	b.expect(errors.Is(err, fairlock.ErrDenied), "it overtook: %v", err)
	hold, err := fairlock.TryLock(background, client, "k", mine...)
	if err != nil {
		t.Fatal(err)
	}
	b.unlock(hold)
}

func TestOptionsThatContradictEachOther(t *testing.T) {
	b := newBench(t)
	for _, options := range [][]fairlock.Option{{fairlock.WithLease(0)},
		{fairlock.WithShared(), fairlock.WithLimit(2)}} {
		_, err := fairlock.Lock(background, b.client(), "k", options...)
		b.expect(err != nil && strings.HasPrefix(err.Error(), "fairlock: "), "%v", err)
	}
	_, err := fairlock.Lock(background, b.client(), "")
	b.expect(err != nil && strings.Contains(err.Error(), "key must have"), "%v", err)
}

func TestAnyBytes(t *testing.T) {
	b := newBench(t)
	client := b.client()
	hold := b.lock(client, "\xff\x00", fairlock.WithOwner("\xfe"), fairlock.WithMeta("\xfd"))
	b.expectHeld(hold)
	_, err := fairlock.TryLock(background, client, "\xff\x00")
	var denied *fairlock.DeniedError
	b.expect(errors.As(err, &denied) && denied.Explanation.Holders[0].Owner == "\xfe" &&
		denied.Explanation.Holders[0].Meta == "\xfd", "%v", err)
}

func TestOtherRequestsThatEndAWait(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other")
	for _, command := range []string{"CANCEL", "UNLOCK"} {
		waiting := startLock(background, b.client(), "k", fairlock.WithOwner("me"))
		b.untilWaiting("k", "me")
		b.ask(command, "k", "me")
		_, err := b.result(waiting)
		b.expect(errors.Is(err, fairlock.ErrWaitEnded), "%v", err)
	}
}

func TestDeadlockIsRefused(t *testing.T) {
	b := newBench(t)
	client := b.client()
	b.lock(client, "a", fairlock.WithOwner("one"))
	b.ask("LOCK", "b", "two")
	waiting := startLock(background, client, "b", fairlock.WithOwner("one"))
	b.untilWaiting("b", "one")
	_, err := fairlock.Lock(background, client, "a", fairlock.WithOwner("two"))
	b.expect(errors.Is(err, fairlock.ErrDeadlock) && strings.Contains(err.Error(), "waits for"),
		"%v", err)
	b.ask("UNLOCK", "b", "two")
	b.unlock(b.granted(waiting))
}

func TestDoEndsWithTheError(t *testing.T) {
	b := newBench(t)
	client := b.client()
	failure := errors.New("failed")
	do := func(work func(context.Context, *fairlock.Hold) error) error {
		return fairlock.Do(background, client, "k", nil, work)
	}
	err := do(func(ctx context.Context, hold *fairlock.Hold) error {
		b.expectHeld(hold)
		return nil
	})
	b.expect(err == nil, "%v", err)
	err = do(func(ctx context.Context, hold *fairlock.Hold) error {
		b.ask("BREAK", "k")
		return failure
	})
	b.expect(err == failure, "%v", err)
	err = do(func(ctx context.Context, hold *fairlock.Hold) error {
		b.ask("BREAK", "k")
		return nil
	})
	b.expect(errors.Is(err, fairlock.ErrLostHold), "%v", err)
	func() {
		defer func() { b.expect(recover() == failure, "the panic was lost") }()
		do(func(context.Context, *fairlock.Hold) error { panic(failure) })
	}()
	b.expectNothingLeft("k")
	err = do(func(ctx context.Context, hold *fairlock.Hold) error {
		_, err := hold.Transfer(ctx, "next", 0)
		return err
	})
	b.expect(err == nil && b.ask("LOCKED", "k", "next") == int64(1), "%v", err)
}

func TestGoroutinesTakeTurns(t *testing.T) {
	b := newBench(t)
	client := b.client()
	var all sync.WaitGroup
	inside, last, grants := 0, int64(0), 0 // protected by the lock alone
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 20; j++ {
				err := fairlock.Do(background, client, "k", nil,
					func(ctx context.Context, hold *fairlock.Hold) error {
						inside++
						token := b.token(hold)
						b.expect(inside == 1 && token > last, "%d inside, %d after %d", inside,
							token, last)
						last = token
						grants++
						inside--
						return nil
					})
				b.expect(err == nil, "%v", err)
			}
		}()
	}
	all.Wait()
	b.expect(grants == 160, "%d grants", grants)
}

func TestRedisIsNotFairlock(t *testing.T) {
	t.Parallel()
	b := benchOn(t, newRedisServer(t))
	for _, more := range [][]string{nil, {"b"}} {
		_, err := fairlock.Lock(background, b.client(), "a", fairlock.WithKeys(more...))
		b.expect(errors.Is(err, fairlock.ErrNotFairlock), "%v", err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	b := &bench{T: t, server: &server{port: freePort(t)}}
	begin := time.Now()
	_, err := fairlock.TryLock(background, b.client(), "k")
	b.expect(err != nil && time.Since(begin) < 10*time.Second, "%v", err)
	_, err = fairlock.Lock(background, b.client(), "k", fairlock.WithWait(300*time.Millisecond))
	b.expect(err != nil && time.Since(begin) >= 300*time.Millisecond, "%v", err)
}

func TestUserWithAName(t *testing.T) {
	t.Parallel()
	s := newEphemeralServer(t, "--acl-file", writeFile(t, "users.acl",
		"user worker on >word ~k* +@all\nuser default on >secret ~* +@all\n"))
	b := &bench{T: t, server: s}
	as := func(user, password string) *redis.Client {
		client := redis.NewClient(&redis.Options{Addr: s.address(), Username: user,
			Password: password})
		t.Cleanup(func() { client.Close() })
		return client
	}
	b.unlock(b.lock(as("worker", "word"), "k"))
	_, err := fairlock.Lock(background, as("worker", "word"), "other")
	b.expect(err != nil && strings.Contains(err.Error(), `"other": NOPERM `), "%v", err)
	_, err = fairlock.Lock(background, as("worker", "wrong"), "k")
	b.expect(err != nil && strings.Contains(err.Error(), `"k": WRONGPASS `), "%v", err)
}
