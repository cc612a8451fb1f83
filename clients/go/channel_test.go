package fairlock_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func (b *bench) channel(client fairlock.Client) *fairlock.Channel {
	b.Helper()
	channel, err := fairlock.NewChannel(client)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { channel.Close() })
	return channel
}

func (b *bench) channelOption() (*redis.Client, fairlock.Option) {
	client := b.client()
	return client, fairlock.WithChannel(b.channel(client))
}

func TestManyWaitsShareOneConnection(t *testing.T) {
	b := newBench(t)
	const waits, pool = 500, 3
	client := b.clientWith(redis.Options{PoolSize: pool})
	before := b.connectionCount()
	first := b.lock(client, "k")
	var all sync.WaitGroup
	grants, last := 0, int64(0) // protected by the lock alone
	for i := 0; i < waits; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			hold, err := fairlock.Lock(background, client, "k")
			if err != nil {
				t.Error(err)
				return
			}
			token, err := hold.Token()
			b.expect(err == nil && token > last, "%d after %d: %v", token, last, err)
			last = token
			grants++
			b.unlock(hold)
		}()
	}
	b.until("all wait", func() bool {
		return len(b.ask("QUEUE", "k", "START", waits-1).([]interface{})) == 1
	})
	b.expect(b.connectionCount() <= before+pool+1, "%d connections", b.connectionCount()-before)
	b.expect(b.commands("lock") == 2*waits+1, "%d requests", b.commands("lock"))
	b.unlock(first)
	all.Wait()
	b.expect(grants == waits, "%d grants", grants)
	b.expectNothingLeft("k")
}

func (b *bench) connectionCount() int {
	return strings.Count(b.ask("CLIENT", "LIST").(string), "\n")
}

func TestWaitsOverAChannelAreGrantedInOrder(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	first := b.lock(client, "k", over)
	order := make(chan int, 10)
	queue := ""
	for i := 0; i < 10; i++ {
		queue = strings.TrimPrefix(fmt.Sprintf("%s,w%d", queue, i), ",")
		waiting := startLock(background, client, "k", over, fairlock.WithOwner(fmt.Sprint("w", i)))
		go func(i int) {
			hold := b.granted(waiting)
			order <- i
			b.unlock(hold)
		}(i)
		b.untilWaiting("k", queue)
	}
	b.unlock(first)
	for i := 0; i < 10; i++ {
		next := <-order
		b.expect(next == i, "%d instead of %d", next, i)
	}
}

func TestTimeOutOverAChannelNamesTheHolder(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	b.ask("LOCK", "k", "other")
	_, err := fairlock.Lock(background, client, "k", over, fairlock.WithWait(200*time.Millisecond))
	var denied *fairlock.DeniedError
	if !errors.As(err, &denied) {
		t.Fatal(err)
	}
	why := denied.Explanation
	b.expect(why.Status == "timeout" && why.Holders[0].Owner == "other", "%+v", why)
	_, err = fairlock.TryLock(background, client, "k", over)
	b.expect(errors.Is(err, fairlock.ErrDenied) && b.waiters("k") == "", "%v", err)
}

func TestManyKeysOverAChannel(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	b.ask("LOCK", "\xff", "other")
	waiting := startLock(background, client, "a", over, fairlock.WithKeys("\xff"))
	b.until("waiting", func() bool { return b.waiters("a") != "" })
	b.ask("UNLOCK", "\xff", "other")
	hold := b.granted(waiting)
	b.expectHeld(hold)
	b.unlock(hold)
	b.expectNothingLeft("a", "\xff")
}

func TestLossIsReportedAtOnceOverAChannel(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	lost := make(chan *fairlock.Hold, 1)
	hold := b.lock(client, "k", over, fairlock.WithLease(time.Hour),
		fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	b.ask("BREAK", "k")
	select {
	case <-lost:
	case <-time.After(waitMax):
		t.Fatal("it was not reported")
	}
	b.expect(strings.Contains(hold.Check().Error(), "broken"), "%v", hold.Check())
}

func TestOtherRequestsThatEndAWaitOverAChannel(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"))
	b.untilWaiting("k", "me")
	b.ask("CANCEL", "k", "me")
	_, err := b.result(waiting)
	b.expect(errors.Is(err, fairlock.ErrWaitEnded), "%v", err)
}

func TestConnectionOfTheChannelIsClosed(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"))
	b.untilWaiting("k", "me")
	b.ask("CLIENT", "KILL", "TYPE", "PUBSUB")
	// A message may have been lost meanwhile.
	b.until("asked again", func() bool { return b.commands("lock") == 3 })
	b.ask("UNLOCK", "k", "other")
	b.unlock(b.granted(waiting))
}

func TestForeignMessageOnTheChannel(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	name := b.ask("PUBSUB", "CHANNELS").([]interface{})[0]
	b.expect(b.ask("PUBLISH", name, "no JSON") == int64(1), "nobody listens")
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"))
	b.untilWaiting("k", "me")
	b.ask("UNLOCK", "k", "other")
	b.unlock(b.granted(waiting))
	b.expect(b.commands("subscribe") == 1, "it subscribed again")
}

// Messages about an earlier wait of the same owner may arrive late.
func TestMessageAboutAnEarlierWait(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	name := b.ask("PUBSUB", "CHANNELS").([]interface{})[0]
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"))
	b.untilWaiting("k", "me")
	for _, event := range []string{`"granted","token":1`, `"cancelled","token":null`,
		`"timeout","token":null`, `"lost","token":1`} {
		b.ask("PUBLISH", name, `{"event":`+event+`,"key":"k","owner":"me","reason":null}`)
		time.Sleep(100 * time.Millisecond)
		b.untilWaiting("k", "me")
		b.expect(len(waiting) == 0, "it ended the wait: %s", event)
	}
	b.ask("UNLOCK", "k", "other")
	hold := b.granted(waiting)
	b.expectHeld(hold)
	b.unlock(hold)
}

func TestReleaseOfALostHoldWhileItsOwnerWaitsAgain(t *testing.T) {
	b := newBench(t)
	client, over := b.channelOption()
	me := fairlock.WithOwner("me")
	lost := b.lock(client, "k", over, me)
	b.ask("BREAK", "k")
	<-lost.Context().Done()
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, me)
	b.untilWaiting("k", "me")
	b.expect(errors.Is(lost.Unlock(background), fairlock.ErrLostHold), "it was held")
	b.untilWaiting("k", "me")
	b.ask("UNLOCK", "k", "other")
	hold := b.granted(waiting)
	b.ask("BREAK", "k")
	<-hold.Context().Done()
}

func TestClosedChannelEndsItsWaits(t *testing.T) {
	b := newBench(t)
	client := b.client()
	channel := b.channel(client)
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", fairlock.WithChannel(channel),
		fairlock.WithKeep(time.Minute))
	b.until("waiting", func() bool { return b.waiters("k") != "" })
	channel.Close()
	channel.Close()
	_, err := b.result(waiting)
	b.expect(err != nil && strings.Contains(err.Error(), "channel is closed"), "%v", err)
	b.expect(b.waiters("k") == "", "a place is left")
}

func TestRestartWhileWaitingOverAChannel(t *testing.T) {
	t.Parallel()
	b := benchOn(t, newKeptServer(t))
	client, over := b.channelOption()
	lost := make(chan *fairlock.Hold, 1)
	holder := b.lock(client, "k", over, fairlock.WithLease(20*time.Second),
		fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"),
		fairlock.WithKeep(time.Minute))
	b.untilWaiting("k", "me")
	b.server.kill()
	b.server.startAgain()
	b.outside = b.client()
	b.untilWaiting("k", "me")
	b.unlock(holder)
	b.unlock(b.granted(waiting))
	b.expect(len(lost) == 0, "a hold was lost")
}

func TestSilentConnectionIsChecked(t *testing.T) {
	b := newBench(t)
	client := b.client()
	over := fairlock.WithChannel(fairlock.NewChannelWithSilence(t, client, 200*time.Millisecond))
	// One of them is the test's.
	b.until("asked twice", func() bool { return b.commands("ping") >= 3 })
	b.expect(b.commands("subscribe") == 1, "it subscribed again")
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, client, "k", over, fairlock.WithOwner("me"))
	b.untilWaiting("k", "me")
	b.ask("UNLOCK", "k", "other")
	b.unlock(b.granted(waiting))
}
