package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func TestFleetKindsOfLocksInEveryPartition(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	for partition := 0; partition < partitions; partition++ {
		key := f.key(partition, "kinds")
		b := f.await(key)
		hold := b.lock(client, key)
		b.expectHeld(hold)
		_, err := fairlock.TryLock(background, client, key)
		b.expect(errors.Is(err, fairlock.ErrDenied), "%v", err)
		b.expect(hold.Renew(background, time.Minute) == nil, "it was not renewed")
		token, err := hold.Transfer(background, "next", 0)
		b.expect(err == nil, "%v", err)
		next := b.lock(client, key, fairlock.WithOwner("next"))
		b.expect(b.token(next) == token, "another token")
		b.unlock(next)
		for _, kind := range []fairlock.Option{fairlock.WithShared(), fairlock.WithLimit(2)} {
			first, second := b.lock(client, key, kind), b.lock(client, key, kind)
			b.unlock(first)
			b.unlock(second)
		}
		one, other := "{"+key+"}:1", "{"+key+"}:2"
		both := b.lock(client, one, fairlock.WithKeys(other))
		b.expectHeld(both)
		b.expect(both.Renew(background, 0) == nil, "MRENEW")
		b.unlock(both)
		b.expectNothingLeft(key, one, other)
		b.unlock(b.lock(client, key, fairlock.WithMinHold(200*time.Millisecond)))
		_, err = fairlock.TryLock(background, client, key)
		var denied *fairlock.DeniedError
		b.expect(errors.As(err, &denied) && denied.Explanation.Reason == "cooling", "%v", err)
	}
}

func TestFleetRequestsGoToTheLeaderAtOnce(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := &bench{T: t}
	keys := []string{f.key(0, "direct"), f.key(1, "direct")}
	before := f.redirections()
	for i := 0; i < 10; i++ {
		b.unlock(b.lock(client, keys[i%2]))
	}
	moved := f.redirections() - before
	b.expect(moved == 0, "%d requests were redirected", moved)
}

func TestFleetKeysOfSeveralSlots(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	for _, more := range []string{f.key(0, "other"), f.key(1, "other")} {
		begin := time.Now()
		_, err := fairlock.Lock(background, client, f.key(0, "one"), fairlock.WithKeys(more))
		if err == nil || !strings.Contains(err.Error(), ": CROSSSLOT ") {
			t.Errorf("%v", err)
		}
		if time.Since(begin) > 10*time.Second {
			t.Error("it was asked again")
		}
	}
}

func TestFleetRefusesAPlainClient(t *testing.T) {
	f := newFleet(t)
	key := f.key(0, "plain")
	refusals := 0
	for _, node := range f.nodes {
		hold, err := fairlock.Lock(background, node, key)
		if err == nil {
			f.await(key).unlock(hold)
		} else if errors.Is(err, fairlock.ErrNeedsCluster) {
			refusals++
		}
	}
	if refusals != len(f.nodes)-1 {
		t.Errorf("%d refusals", refusals)
	}
}

func TestFleetSeedWithAnotherName(t *testing.T) {
	f := newFleet(t)
	key := f.key(1, "seed")
	leader := f.await(key).address()
	for _, seed := range f.addresses() {
		client := f.client(redis.ClusterOptions{
			Addrs: []string{strings.Replace(seed, "127.0.0.1", "localhost", 1)}})
		b := f.await(key)
		b.unlock(b.lock(client, key))
	}
	if leader != f.await(key).address() {
		t.Error("the leader has changed meanwhile")
	}
}

func TestFleetGrantsInOrder(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	for partition := 0; partition < partitions; partition++ {
		for _, over := range f.withoutAndWithChannel(client) {
			key := f.key(partition, "order")
			b := f.await(key)
			first := b.lock(client, key)
			order, queue := make(chan int, 5), ""
			for i := 0; i < 5; i++ {
				queue = strings.TrimPrefix(fmt.Sprintf("%s,w%d", queue, i), ",")
				waiting := startLock(background, client, key,
					append(over, fairlock.WithOwner(fmt.Sprint("w", i)))...)
				go func(i int) {
					hold := b.granted(waiting)
					order <- i
					b.unlock(hold)
				}(i)
				b.untilWaiting(key, queue)
			}
			b.unlock(first)
			for i := 0; i < 5; i++ {
				b.expect(<-order == i, "another order")
			}
			b.untilWaiting(key, "")
		}
	}
}

func (f *fleet) withoutAndWithChannel(client fairlock.Client) [][]fairlock.Option {
	channel := (&bench{T: f.T}).channel(client)
	return [][]fairlock.Option{{}, {fairlock.WithChannel(channel)}}
}

func TestFleetCancelledWaitLeavesNothing(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	ways := f.withoutAndWithChannel(client)
	b := f.await("k")
	b.cancelAtAnyTime(client, ways[0]...)
	b.ask("LOCK", "k", "other", "PX", 600000)
	b.expect(b.cancelAtAnyTime(client, ways[1]...) == 0, "it was granted")
	b.ask("UNLOCK", "k", "other")
}

func TestFleetChannelWaitsInSeveralPartitions(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{PoolSize: 2})
	b := &bench{T: t}
	over := fairlock.WithChannel(b.channel(client))
	const waits = 30
	var holds []*fairlock.Hold
	var waiting []pending
	before := map[int]int{}
	for partition := 0; partition < partitions; partition++ {
		at := f.await(f.key(partition, "many"))
		// An earlier test's client is subscribed for a while after its last wait.
		b.until("unsubscribed", func() bool { return at.subscriptions() == 0 })
		before[partition] = at.connectionCount()
	}
	for i := 0; i < waits; i++ {
		key := f.key(i%partitions, fmt.Sprint("many:", i))
		holds = append(holds, b.lock(client, key, over))
		waiting = append(waiting, startLock(background, client, key, over))
		b.until("waiting", func() bool { return f.await(key).waiters(key) != "" })
	}
	for partition := 0; partition < partitions; partition++ {
		at := f.await(f.key(partition, "many"))
		b.expect(at.subscriptions() == waits/partitions, "%d names", at.subscriptions())
		more := at.connectionCount() - before[partition]
		b.expect(more <= 2+1, "%d connections", more)
	}
	for i, hold := range holds {
		b.unlock(hold)
		b.unlock(b.granted(waiting[i]))
	}
	for partition := 0; partition < partitions; partition++ {
		b.until("unsubscribed", func() bool {
			return f.await(f.key(partition, "many")).subscriptions() == 0
		})
	}
}

// A slot whose name was unsubscribed, because another one came into use, is used again.
func TestFleetChannelSlotIsUsedAgain(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := f.await(f.key(0, "again"))
	over := fairlock.WithChannel(b.channel(client))
	keys := []string{f.key(0, "again"), f.key(0, "between"), f.key(0, "again")}
	for _, key := range keys[:2] {
		b.unlock(b.lock(client, key, over))
	}
	hold := b.lock(client, keys[2], over)
	waiting := startLock(background, client, keys[2], over, fairlock.WithOwner("me"))
	b.untilWaiting(keys[2], "me")
	time.Sleep(1500 * time.Millisecond) // longer than an unused slot is kept
	b.expect(b.subscriptions() == 1, "%d names", b.subscriptions())
	b.unlock(hold)
	b.unlock(b.granted(waiting))
}

func TestFleetChannelReportsALoss(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := &bench{T: t}
	over := fairlock.WithChannel(b.channel(client))
	for partition := 0; partition < partitions; partition++ {
		key := f.key(partition, "broken")
		hold := b.lock(client, key, over, fairlock.WithLease(time.Hour))
		f.await(key).ask("BREAK", key)
		<-hold.Context().Done()
		b.expect(strings.Contains(hold.Check().Error(), "broken"), "%v", hold.Check())
	}
}

// Tags that cannot stand in braces, and keys of any bytes, have channels too.
func TestFleetChannelNames(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := &bench{T: t}
	over := fairlock.WithChannel(b.channel(client))
	for _, key := range []string{"}", "{}", "{}x", "a}b", "{{a}}", "\xff\x00", "{a}{b}",
		strings.Repeat("long", 200), "{" + strings.Repeat("long", 200) + "}", "x{y", "plain"} {
		at := f.await(key)
		slot := at.ask("CLUSTER", "KEYSLOT", key)
		b.expect(int64(fairlock.SlotOf(key)) == slot, "%q: %d", key, fairlock.SlotOf(key))
		name := fairlock.NameInSlot("fairlock:x", key)
		b.expect(at.ask("CLUSTER", "KEYSLOT", name) == slot && len(name) < 120, "%q: %q", key, name)
		hold := b.lock(client, key)
		waiting := startLock(background, client, key, over)
		b.until("waiting", func() bool { return at.waiters(key) != "" })
		b.unlock(hold)
		b.unlock(b.granted(waiting))
	}
}

func TestFleetSubscriptionAtAStandby(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := &bench{T: t}
	for _, address := range f.addresses() {
		key := f.key(0, "standby")
		over := fairlock.WithChannel(b.channel(client))
		hold := b.lock(client, key)
		fairlock.Mislead(t, client, key, address)
		waiting := startLock(background, client, key, over, fairlock.WithOwner("me"))
		f.untilWaiting(key, "me")
		b.unlock(hold)
		b.unlock(b.granted(waiting))
	}
}

func TestFleetIdleConnectionsAreClosed(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := f.await("k")
	hold := b.lock(client, "k")
	client.Close() // Holds do not depend on the channel.
	b.expectHeld(hold)
	b.unlock(hold)
	fairlock.CloseIfIdle(t, client)
	b.expect(!fairlock.HasLink(client), "it is remembered")
}

func TestOtherClientsAreRefused(t *testing.T) {
	type wrapped struct{ *redis.Client }
	var none *redis.Client
	for name, client := range map[string]fairlock.Client{"<nil>": nil, "*redis.Client": none,
		"*redis.Ring": redis.NewRing(&redis.RingOptions{})} {
		_, err := fairlock.TryLock(context.Background(), client, "k")
		if err == nil || !strings.Contains(err.Error(), "got "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := newBench(t)
	b.unlock(b.lock(wrapped{b.client()}, "k"))
}
