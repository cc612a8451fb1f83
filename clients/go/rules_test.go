package fairlock_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

const year = 365 * 24 * time.Hour

// timeRules are all places at which the package takes a time.
var timeRules = map[string]struct {
	mayBeZero bool
	use       func(client fairlock.Client, hold *fairlock.Hold, d time.Duration) error
}{
	"WithLease":   {false, withTime(fairlock.WithLease)},
	"WithWait":    {true, withTime(fairlock.WithWait)},
	"WithKeep":    {true, withTime(fairlock.WithKeep)},
	"WithMinHold": {true, withTime(fairlock.WithMinHold)},
	"Renew": {true, func(_ fairlock.Client, hold *fairlock.Hold, d time.Duration) error {
		return hold.Renew(background, d)
	}},
	"Transfer": {true, func(_ fairlock.Client, hold *fairlock.Hold, d time.Duration) error {
		_, err := hold.Transfer(background, "next", d)
		return err
	}},
}

func withTime(option func(time.Duration) fairlock.Option) func(fairlock.Client, *fairlock.Hold,
	time.Duration) error {
	return func(client fairlock.Client, _ *fairlock.Hold, d time.Duration) error {
		hold, err := fairlock.Lock(background, client, "other", option(d))
		if err == nil {
			err = hold.Unlock(background)
		}
		if d == time.Millisecond && errors.Is(err, fairlock.ErrLostHold) {
			return nil // The lease was as short as it was meant to be.
		}
		return err
	}
}

func TestTimesAreCheckedAtTheCall(t *testing.T) {
	b := newBench(t)
	client := b.client()
	for name, rule := range timeRules {
		hold := b.lock(client, "k", fairlock.WithOwner("me"))
		before := b.requests()
		for _, d := range []time.Duration{-1, -time.Hour, math.MinInt64, 1, 30,
			time.Millisecond - 1, year + 1, math.MaxInt64 - 1, math.MaxInt64} {
			err := rule.use(client, hold, d)
			b.expect(err != nil && strings.HasPrefix(err.Error(), "fairlock: the ") &&
				strings.Contains(err.Error(), fmt.Sprint("got ", d)), "%s of %d: %v", name, d, err)
		}
		if !rule.mayBeZero {
			b.expect(rule.use(client, hold, 0) != nil, "%s of 0", name)
		}
		b.expect(b.requests() == before, "%s: requests were sent", name)
		b.expectHeld(hold)
		longest := year
		if name == "WithKeep" {
			longest = time.Minute // a setting of the server
		}
		good := []time.Duration{time.Millisecond, longest}
		if rule.mayBeZero {
			good = append(good, 0)
		}
		for _, d := range good {
			if name == "Transfer" {
				hold = b.lock(client, fmt.Sprint("given", d))
			}
			b.expect(rule.use(client, hold, d) == nil, "%s of %v", name, d)
			b.ask("BREAK", "other")
		}
		b.ask("UNLOCK", "k", "me")
	}
}

// requests counts all requests that change locks.
func (b *bench) requests() int {
	return b.commands("lock") + b.commands("renew") + b.commands("transfer") + b.commands("unlock")
}

func TestNumbersAndNamesAreCheckedAtTheCall(t *testing.T) {
	b := newBench(t)
	client := b.client()
	hold := b.lock(client, "k")
	before := b.requests()
	for _, option := range []fairlock.Option{fairlock.WithLimit(0), fairlock.WithLimit(-1),
		fairlock.WithMaxWaiters(-1), fairlock.WithChannel(b.channel(b.client()))} {
		_, err := fairlock.Lock(background, client, "other", option)
		b.expect(err != nil && strings.HasPrefix(err.Error(), "fairlock: the "), "%v", err)
	}
	_, err := hold.Transfer(background, "", 0)
	b.expect(err != nil && strings.HasPrefix(err.Error(), "fairlock: the "), "%v", err)
	b.expect(b.requests() == before, "requests were sent")
	b.unlock(hold)
	b.unlock(b.lock(client, "k", nil, fairlock.WithOwner(""), fairlock.WithChannel(nil),
		fairlock.WithOnLost(nil)))
}

func TestErrorsNameKeyHolderAndWaiters(t *testing.T) {
	b := newBench(t)
	client := b.client()
	b.ask("LOCK", "order:42", "worker-2")
	waiting := startLock(background, client, "order:42", fairlock.WithOwner("me"))
	b.untilWaiting("order:42", "me")
	_, err := fairlock.Lock(background, client, "order:42", fairlock.WithWait(300*time.Millisecond))
	b.expect(err != nil && strings.HasPrefix(err.Error(), `fairlock: "order:42" not granted in 3`) &&
		strings.Contains(err.Error(), "ms: held by worker-2 for ") &&
		strings.Contains(err.Error(), "; 1 waiting"), "%v", err)
	_, err = fairlock.TryLock(background, client, "order:42")
	b.expect(err != nil && strings.HasPrefix(err.Error(), `fairlock: "order:42" not granted: held`),
		"%v", err)
	b.ask("CANCEL", "order:42", "me")
	_, err = b.result(waiting)
	b.expect(err.Error() == `fairlock: "order:42": another request ended the wait: cancelled`,
		"%v", err)
	_, err = fairlock.Lock(background, client, "a", fairlock.WithKeys("order:42"),
		fairlock.WithWait(0))
	b.expect(strings.HasPrefix(err.Error(), `fairlock: "a", "order:42" not granted: "order:42" is `+
		`taken; held by worker-2`), "%v", err)
}

func TestOwnersOfAnyBytesArePrinted(t *testing.T) {
	b := newBench(t)
	client := b.client()
	for owner, shown := range map[string]string{"\xff\xfe": `"\xff\xfe"`, "a\nb": `"a\nb"`,
		"": `"\x01"`, "Büro 7": "Büro 7"} {
		if owner == "" {
			owner = "\x01"
		}
		hold := b.lock(client, "k\xff", fairlock.WithOwner(owner))
		_, err := fairlock.TryLock(background, client, "k\xff")
		b.expect(strings.Contains(err.Error(), `"k\xff" not granted: held by `+shown+" for "),
			"%v", err)
		b.unlock(hold)
	}
}

// One connection of the program, which it uses for something else, is enough for any number of
// locks.
func TestLocksDoNotUseThePoolOfTheProgram(t *testing.T) {
	b := newBench(t)
	busy := b.clientWith(redis.Options{PoolSize: 1, PoolTimeout: time.Hour})
	b.ask("LOCK", "busy", "other", "PX", 600000)
	go tell(busy, "LOCK", "busy", "occupies the pool", "WAIT", "600s")
	b.until("the pool is used up", func() bool { return b.waiters("busy") != "" })
	var all sync.WaitGroup
	for i := 0; i < 12; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			b.unlock(b.lock(busy, "k"))
		}()
	}
	all.Wait()
	b.ask("UNLOCK", "busy", "other")
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	b := newBench(t)
	client := b.client()
	before := b.connectionCount()
	hold := b.lock(client, "k")
	b.ask("LOCK", "other", "other")
	_, err := fairlock.Lock(background, client, "other", fairlock.WithWait(50*time.Millisecond))
	b.expect(errors.Is(err, fairlock.ErrDenied), "%v", err)
	fairlock.CloseIfIdle(t, client)
	b.expect(fairlock.HasLink(client), "it is closed while a lock is held")
	client.Close() // Holds do not depend on the channel.
	b.unlock(hold)
	fairlock.CloseIfIdle(t, client)
	b.expect(!fairlock.HasLink(client), "it is remembered")
	b.until("closed", func() bool { return b.connectionCount() == before })
	again := b.client()
	b.unlock(b.lock(again, "k"))
	b.unlock(b.lock(again, "k"))
}

func TestSecondReleaseHasOneResult(t *testing.T) {
	b := newBench(t)
	client := b.client()
	for i := 0; i < 20; i++ {
		hold := b.lock(client, "k")
		results := make(chan error, 3)
		for j := 0; j < 3; j++ {
			go func() { results <- hold.Unlock(background) }()
		}
		good := 0
		for j := 0; j < 3; j++ {
			err := <-results
			if err == nil {
				good++
			} else {
				b.expect(errors.Is(err, fairlock.ErrLostHold) &&
					strings.Contains(err.Error(), `["k"] was released`), "%v", err)
			}
		}
		b.expect(good == 1, "%d releases", good)
	}
}

// lines is a log that tests can read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) have(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// This test runs alone, because all tests share the log.
func TestLogger(t *testing.T) {
	b := benchOn(t, newEphemeralServer(t))
	kept := &lines{}
	defer fairlock.SetLogger(nil)
	for _, to := range []*log.Logger{nil, log.New(kept, "", 0)} {
		fairlock.SetLogger(to)
		hold := b.lock(b.client(), "k")
		b.server.kill()
		b.expect(hold.Unlock(ended()) == nil, "a failed release is only logged")
		b.server.startAgain()
		b.outside = b.client()
	}
	b.expect(kept.have(`releasing ["k"]: `), "%s", &kept.text)
}
