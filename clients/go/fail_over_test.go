package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

// failOver makes the leader of one partition disappear while locks are held and waited for, with
// and without a channel.
func (f *fleet) failOver(client *redis.ClusterClient, partition int, how string) {
	b := &bench{T: f.T}
	over := fairlock.WithChannel(b.channel(client))
	keep, lease := fairlock.WithKeep(time.Minute), fairlock.WithLease(20*time.Second)
	lost := make(chan *fairlock.Hold, 10)
	onLost := fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h })
	key, other := f.key(partition, "held"), f.key(1-partition, "undisturbed")
	hold := b.lock(client, key, lease, onLost)
	elsewhere := b.lock(client, other, over, lease, onLost)
	first := startLock(background, client, key, keep, fairlock.WithOwner("first"))
	f.untilWaiting(key, "first")
	second := startLock(background, client, key, keep, over, fairlock.WithOwner("second"))
	f.untilWaiting(key, "first,second")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ended := startLock(ctx, client, key, keep, fairlock.WithOwner("ended"))
	f.untilWaiting(key, "first,second,ended")

	f.command(how, key)
	cancel()
	_, err := b.result(ended)
	b.expect(errors.Is(err, context.Canceled), "%v", err)
	f.untilWaiting(key, "first,second")
	f.command("whole")

	b.expect(hold.Renew(background, 0) == nil, "%v", hold.Check())
	before := b.token(hold)
	b.unlock(hold)
	after := b.granted(first)
	b.expect(b.token(after) > before, "the token fell")
	b.unlock(after)
	last := b.granted(second)
	b.expect(b.token(last) > before, "the token fell")
	f.await(key).ask("BREAK", key)
	<-last.Context().Done() // The channel hears of the loss from the new leader.
	b.unlock(elsewhere)
	f.await(key).expectNothingLeft(key)
	f.await(other).expectNothingLeft(other)
	b.expect(len(lost) == 0, "%d holds were lost", len(lost))
}

func TestFleetLeaderIsKilled(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	for partition := 0; partition < partitions; partition++ {
		f.failOver(client, partition, "kill")
	}
}

func TestFleetLeaderHandsOver(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	for partition := 0; partition < partitions; partition++ {
		f.failOver(client, partition, "replace")
	}
}

// A leader that goes silent keeps its connections. Only the read time-out finds out.
func TestFleetLeaderIsPaused(t *testing.T) {
	f := newFleet(t)
	f.failOver(f.client(redis.ClusterOptions{ReadTimeout: 2 * time.Second}), 0, "pause")
}

// A hold whose release meets a fail-over is released.
func TestFleetReleaseWaitsForTheNextLeader(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	key := f.key(1, "released")
	hold := f.await(key).lock(client, key)
	f.command("kill", key)
	if err := hold.Unlock(background); err != nil {
		t.Error(err)
	}
	f.command("whole")
	f.await(key).expectNothingLeft(key)
}

// Connections are cut while other goroutines subscribe over them.
func TestFleetChannelIsCutAllTheTime(t *testing.T) {
	f := newFleet(t)
	client := f.client(redis.ClusterOptions{})
	b := &bench{T: t}
	over := fairlock.WithChannel(b.channel(client))
	var all sync.WaitGroup
	var keys []string
	for i := 0; i < 20; i++ {
		key := f.key(i%partitions, fmt.Sprint("cut:", i))
		keys = append(keys, key)
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 5; n++ {
				first := startLock(background, client, key, over)
				second := startLock(background, client, key, over)
				for i := 0; i < 2; i++ {
					var got outcome
					select {
					case got = <-first:
					case got = <-second:
					}
					if got.err != nil {
						t.Error(got.err)
						return
					}
					b.unlock(got.hold)
				}
			}
		}()
	}
	done := make(chan bool)
	go func() {
		all.Wait()
		close(done)
	}()
	for isDone := false; !isDone; {
		for _, node := range f.nodes {
			tell(node, "CLIENT", "KILL", "TYPE", "PUBSUB")
		}
		select {
		case <-done:
			isDone = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, key := range keys {
		f.await(key).expectNothingLeft(key)
	}
}
