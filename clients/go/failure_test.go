package fairlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func TestLeaseIsRenewedWhenAThirdIsLeft(t *testing.T) {
	b := newBench(t)
	hold := b.lock(b.client(), "k", fairlock.WithLease(1200*time.Millisecond))
	time.Sleep(2900 * time.Millisecond)
	b.expectHeld(hold)
	// There is one more if the grant was late and had to be confirmed.
	renewals := b.commands("renew")
	b.expect(renewals >= 2 && renewals <= 4, "%d renewals", renewals)
	b.unlock(hold)
}

func TestLeaseWithoutRenewalEnds(t *testing.T) {
	b := newBench(t)
	lost := make(chan *fairlock.Hold, 2)
	hold := b.lock(b.client(), "k", fairlock.WithLease(200*time.Millisecond),
		fairlock.WithoutRenewal(), fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	<-hold.Context().Done()
	b.expect((<-lost).Owner() == hold.Owner(), "another hold is lost")
	_, err := hold.Token()
	b.expect(errors.Is(err, fairlock.ErrLostHold) &&
		strings.Contains(err.Error(), "lease of 200ms ended"), "%v", err)
	b.expect(errors.Is(hold.Unlock(background), fairlock.ErrLostHold), "it was held")
	b.expect(len(lost) == 0, "the loss was reported twice")
}

func TestBrokenHoldIsReportedAtTheNextRenewal(t *testing.T) {
	b := newBench(t)
	lost := make(chan *fairlock.Hold, 2)
	hold := b.lock(b.client(), "k", fairlock.WithLease(300*time.Millisecond),
		fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	b.ask("BREAK", "k")
	b.expect((<-lost).Owner() == hold.Owner(), "another hold is lost")
	b.expect(hold.Context().Err() != nil, "its context goes on")
	b.expect(strings.Contains(hold.Check().Error(), "does not know it"), "%v", hold.Check())
	b.expect(errors.Is(hold.Unlock(background), fairlock.ErrLostHold), "it was held")

	hold = b.lock(b.client(), "k")
	b.ask("BREAK", "k")
	err := hold.Renew(background, 0)
	b.expect(errors.Is(err, fairlock.ErrLostHold), "%v", err)
}

func TestGrantAfterALongWaitIsConfirmed(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other", "PX", 60000)
	waiting := startLock(background, b.client(), "k", fairlock.WithLease(2*time.Second),
		fairlock.WithoutRenewal())
	b.until("waiting", func() bool { return b.waiters("k") != "" })
	time.Sleep(1500 * time.Millisecond)
	b.ask("UNLOCK", "k", "other")
	hold := b.granted(waiting)
	b.expect(hold.Left() > time.Second, "only %v are left", hold.Left())
	b.expect(b.commands("renew") == 1, "%d renewals", b.commands("renew"))
	b.unlock(hold)
	b.unlock(b.lock(b.client(), "k", fairlock.WithLease(time.Minute)))
	b.expect(b.commands("renew") == 1, "a quick grant was confirmed")
}

// A grant is late even if only its reply is late: the lease counts from the request.
func TestLeaseCountsFromTheRequest(t *testing.T) {
	b := newBench(t)
	slow := newSlowPath(b, 300*time.Millisecond)
	hold := b.lock(slow.client(), "k", fairlock.WithLease(20*time.Second),
		fairlock.WithoutRenewal())
	onServer := time.Duration(b.ask("PTTL", "k").(int64)+1) * time.Millisecond
	left := hold.Left()
	b.expect(left <= onServer, "%v are left, on the server %v", left, onServer)
}

func TestRenewalOfUnknownOutcomeChangesNothing(t *testing.T) {
	b := newBench(t)
	slow := newSlowPath(b, 0)
	hold := b.lock(slow.client(), "k", fairlock.WithLease(time.Minute), fairlock.WithoutRenewal())
	slow.setDelay(5 * time.Second)
	soon, cancel := contextFor(300 * time.Millisecond)
	defer cancel()
	err := hold.Renew(soon, time.Second)
	b.expect(err != nil, "it was answered")
	b.expect(hold.Left() > 30*time.Second, "%v are left", hold.Left())
}

func TestRenewalNeverShortensTheLease(t *testing.T) {
	b := newBench(t)
	hold := b.lock(b.client(), "k", fairlock.WithLease(time.Minute), fairlock.WithoutRenewal())
	b.expect(hold.Renew(background, 500*time.Millisecond) == nil, "it was not renewed")
	b.expect(hold.Left() > 50*time.Second, "%v are left", hold.Left())
	left, _ := b.ask("PTTL", "k").(int64)
	b.expect(left > 50_000, "%d ms are left at the server", left)
}

func TestHoldIsDoubtfulFromItsTransferOn(t *testing.T) {
	b := newBench(t)
	slow := newSlowPath(b, 0)
	losses := make(chan *fairlock.Hold, 2)
	hold := b.lock(slow.client(), "k", fairlock.WithLease(time.Minute),
		fairlock.WithOnLost(func(h *fairlock.Hold) { losses <- h }))
	slow.setDelay(time.Second)
	transfer := make(chan error, 1)
	go func() {
		_, err := hold.Transfer(background, "next", 0)
		transfer <- err
	}()
	b.until("the doubt", func() bool { return errors.Is(hold.Check(), fairlock.ErrLostHold) })
	b.expect(errors.Is(hold.Renew(background, 0), fairlock.ErrLostHold), "it was renewed")
	b.expect(b.ask("LOCKED", "k", "next") == int64(0) || len(transfer) == 0, "the doubt was late")
	err := <-transfer
	b.expect(err == nil, "%v", err)
	b.expect(errors.Is(hold.Check(), fairlock.ErrLostHold), "it is held")
	b.expect(len(losses) == 0, "a loss was reported")
}

func TestHoldIsLostIfItsTransferIsNeverConfirmed(t *testing.T) {
	b := newBench(t)
	slow := newSlowPath(b, 0)
	losses := make(chan *fairlock.Hold, 2)
	hold := b.lock(slow.client(), "k", fairlock.WithLease(time.Second),
		fairlock.WithOnLost(func(h *fairlock.Hold) { losses <- h }))
	slow.setDelay(8 * time.Second)
	_, err := hold.Transfer(background, "next", 0)
	b.expect(err != nil, "it was confirmed")
	b.expect(errors.Is(hold.Check(), fairlock.ErrLostHold), "it is held")
	b.expect((<-losses).Owner() == hold.Owner() && len(losses) == 0, "the loss was not reported once")
}

func TestTransferThatIsRefusedChangesNothing(t *testing.T) {
	b := newBench(t)
	client := b.client()
	hold := b.lock(client, "k", fairlock.WithOwner("job:1"), fairlock.WithLimit(2))
	b.lock(client, "k", fairlock.WithOwner("job:2"), fairlock.WithLimit(2))
	_, err := hold.Transfer(background, "job:2", 0)
	b.expect(err != nil && !errors.Is(err, fairlock.ErrLostHold), "%v", err)
	b.expectHeld(hold)
	b.unlock(hold)
}

func TestReadTimeOutShorterThanTheWaitKeepsThePlace(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other")
	impatient := b.clientWith(redis.Options{ReadTimeout: 300 * time.Millisecond})
	first := startLock(background, impatient, "k", fairlock.WithOwner("first"),
		fairlock.WithKeep(time.Minute))
	b.untilWaiting("k", "first")
	second := startLock(background, b.client(), "k", fairlock.WithOwner("second"))
	time.Sleep(time.Second)
	b.untilWaiting("k", "first,second")
	b.expect(b.commands("lock") <= 8, "%d requests", b.commands("lock"))
	b.ask("UNLOCK", "k", "other")
	hold := b.granted(first)
	b.untilWaiting("k", "second")
	b.unlock(hold)
	b.unlock(b.granted(second))
}

func TestWaitSendsTwoRequests(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, b.client(), "k", fairlock.WithWait(waitMax))
	b.until("waiting", func() bool { return b.waiters("k") != "" })
	time.Sleep(500 * time.Millisecond)
	b.expect(b.commands("lock") == 1+2, "%d requests", b.commands("lock"))
	b.ask("UNLOCK", "k", "other")
	b.unlock(b.granted(waiting))
}

func TestConnectionIsClosedWhileWaiting(t *testing.T) {
	b := newBench(t)
	b.ask("LOCK", "k", "other")
	waiting := startLock(background, b.client(), "k", fairlock.WithOwner("me"),
		fairlock.WithKeep(time.Minute))
	b.untilWaiting("k", "me")
	b.ask("CLIENT", "KILL", "TYPE", "NORMAL", "SKIPME", "YES")
	b.until("asking again", func() bool { return b.commands("lock") == 3 })
	b.ask("UNLOCK", "k", "other")
	b.unlock(b.granted(waiting))
}

func TestRestartsWhileWaitingAndHolding(t *testing.T) {
	t.Parallel()
	b := benchOn(t, newKeptServer(t))
	client := b.client()
	lost := make(chan *fairlock.Hold, 1)
	holder := b.lock(client, "k", fairlock.WithLease(20*time.Second),
		fairlock.WithOnLost(func(h *fairlock.Hold) { lost <- h }))
	waiting := startLock(background, client, "k", fairlock.WithOwner("me"),
		fairlock.WithKeep(time.Minute))
	b.untilWaiting("k", "me")
	for _, end := range []func(){b.server.stop, b.server.kill} {
		end()
		b.server.startAgain()
		b.outside = b.client()
		b.untilWaiting("k", "me")
		time.Sleep(1500 * time.Millisecond)
		b.expect(holder.Check() == nil, "%v", holder.Check())
	}
	b.unlock(holder)
	hold := b.granted(waiting)
	b.expectHeld(hold)
	b.unlock(hold)
	b.expect(len(lost) == 0, "a hold was lost")
}

func TestServerIsAwayForLongerThanTheLease(t *testing.T) {
	t.Parallel()
	b := benchOn(t, newKeptServer(t))
	hold := b.lock(b.client(), "k", fairlock.WithLease(500*time.Millisecond))
	b.server.kill()
	<-hold.Context().Done()
	_, err := hold.Token()
	b.expect(errors.Is(err, fairlock.ErrLostHold), "%v", err)
	b.server.startAgain()
	b.expect(errors.Is(hold.Unlock(background), fairlock.ErrLostHold), "it was held")
}

func TestReleaseWaitsForTheRestart(t *testing.T) {
	t.Parallel()
	b := benchOn(t, newKeptServer(t))
	client := b.clientWith(redis.Options{PoolSize: 20})
	hold := b.lock(client, "k0")
	// Each connection of the pool is found closed after the restart.
	b.ask("LOCK", "k", "other")
	var waiting []pending
	for i := 0; i < 12; i++ {
		waiting = append(waiting, startLock(background, client, "k", fairlock.WithLimit(20)))
	}
	b.until("all wait", func() bool { return strings.Count(b.waiters("k"), ",") == 11 })
	b.ask("UNLOCK", "k", "other")
	for _, w := range waiting {
		b.unlock(b.granted(w))
	}
	b.server.kill()
	released := make(chan error, 1)
	go func() { released <- hold.Unlock(background) }()
	time.Sleep(200 * time.Millisecond)
	b.server.startAgain()
	b.outside = b.client()
	b.expect(<-released == nil, "the release failed")
	b.expectNothingLeft("k0")
}
