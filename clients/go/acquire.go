package fairlock

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// The server ends a wait itself. The client waits this much longer before it suspects that the
	// reply was lost.
	grace   = 5 * time.Second
	forever = duration(math.MaxInt64)
	// The server counts milliseconds, so its message may arrive earlier than the wait is over here.
	earlyMax = 5 * time.Millisecond
	// A grant that arrives later than this part of the lease after its request is confirmed by
	// RENEW, from which the lease then counts: the time of the grant itself is not known here.
	lateDivisor = 10
)

// grant is a token, and a time from which at least one whole lease counts.
type grant struct {
	token  int64
	sentAt duration
}

// acquisition asks for a lock until it is granted or denied, or the wait is over.
type acquisition struct {
	*settings
	to          route
	through     *gates
	giveUpAt    duration
	line        *line // nil if it does not wait over a channel
	mail        *mailbox
	listener    *listener
	outstanding []*request // may still be executed
}

func newAcquisition(to route, wanted *settings) *acquisition {
	a := &acquisition{settings: wanted, to: to, through: wanted.channel.gatesOrNil(),
		giveUpAt: forever}
	if wanted.wait != nil {
		a.giveUpAt = now() + *wanted.wait
	}
	// With NOTIFY, the server would let a request without WAIT wait.
	if wanted.channel != nil && (wanted.wait == nil || *wanted.wait > 0) {
		a.mail = newMailbox()
		a.listener = &listener{a.mail.put}
		a.line = wanted.channel.join(to)
		a.line.listeners.set(wanted.keys, wanted.owner, a.listener)
	}
	return a
}

// run asks again while the server cannot be reached. The same owner keeps its place.
func (a *acquisition) run(ctx context.Context) (grant, error) {
	var attempts backoff
	for {
		got, err := a.ask(ctx)
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return grant{}, ctx.Err()
		case !isTemporary(err):
			return grant{}, translated(err)
		case a.left() == 0:
			return grant{}, err
		}
		sleep(ctx, shorter(attempts.pause(err), a.left()))
	}
}

func (a *acquisition) left() duration {
	if a.giveUpAt == forever {
		return forever
	}
	if left := a.giveUpAt - now(); left > 0 {
		return left
	}
	return 0
}

func (a *acquisition) patience() duration {
	if left := a.left(); left < forever-grace {
		return left + grace
	}
	return forever
}

// send waits for the answer, and remembers the request if it may still be executed.
func (a *acquisition) send(ctx context.Context, command words, patience duration) answer {
	if ctx.Done() == nil && patience == forever { // Nothing can end the wait for the answer.
		r := newRequest(a.to, a.through, command)
		r.execute()
		return r.result
	}
	r := startRequest(a.to, a.through, command)
	got := r.await(ctx, patience)
	if !r.withdraw() {
		a.outstanding = append(a.outstanding, r)
	}
	return got
}

// waitNow is what is left of the wait, but never 0 if the lock may be waited for.
func (a *acquisition) waitNow() *duration {
	if a.wait == nil {
		return nil
	}
	left := a.left()
	if *a.wait > 0 && left < time.Millisecond {
		left = time.Millisecond
	}
	return &left
}

func (a *acquisition) ask(ctx context.Context) (grant, error) {
	connection, channel := (*feed)(nil), ""
	if a.line != nil {
		var err error
		if connection, err = a.line.ready(ctx, a.left()); err != nil {
			return grant{}, err
		}
		channel = a.line.name
		// A message about an earlier request must not be taken for the answer to this one.
		a.mail.takeAll()
	}
	wait := a.waitNow()
	// A token is parsed in less time than a map. A wait seldom ends without one.
	explains := wait != nil && *wait == 0 || channel != "" || a.maxWaiters != nil
	got := a.send(ctx, a.lock(a.owner, wait, channel, explains), a.patience())
	if got.err != nil {
		if connection != nil && isWithoutSubscriber(got.err) {
			connection.close(got.err) // It is not at the server that has the key.
		}
		return grant{}, got.err
	}
	if token, ok := got.reply.(int64); ok {
		return a.accept(ctx, token, got.sentAt)
	}
	if !explains {
		return a.askWhy(ctx)
	}
	why := parseExplanation(got.reply)
	if why.Status == "queued" && channel != "" {
		return a.listen(ctx, got.sentAt)
	}
	return a.decide(ctx, why, got.sentAt)
}

func (a *acquisition) decide(ctx context.Context, why Explanation, sentAt duration) (grant, error) {
	if why.token == nil {
		return grant{}, &DeniedError{why}
	}
	return a.accept(ctx, *why.token, sentAt)
}

func (a *acquisition) accept(ctx context.Context, token int64, sentAt duration) (grant, error) {
	if now()-sentAt > a.lease/lateDivisor {
		return a.confirm(ctx, token)
	}
	return grant{token, sentAt}, nil
}

func (a *acquisition) confirm(ctx context.Context, token int64) (grant, error) {
	got := a.send(ctx, a.renew(a.owner, token, a.lease), a.lease)
	if got.err != nil {
		return grant{}, got.err
	}
	if got.reply != int64(1) {
		return grant{}, errUnconfirmed
	}
	return grant{token, got.sentAt}, nil
}

// listen waits for the message that ends the wait. If the owner was named, a message may still be
// about a wait that was given up before.
func (a *acquisition) listen(ctx context.Context, sentAt duration) (grant, error) {
	for {
		it, err := a.mail.listen(ctx, a.patience())
		switch {
		case err != nil:
			return grant{}, err
		case it.event == "subscribed":
			return grant{}, errChannelCut
		case it.event == "granted" && a.isNamed:
			return a.confirm(ctx, it.token)
		case it.event == "granted":
			return a.accept(ctx, it.token, sentAt)
		case it.event == "timeout" && a.left() <= earlyMax:
			return a.askWhy(ctx)
		case it.event == "cancelled" && a.isNamed && a.stillWaits(ctx):
			continue
		case it.event == "cancelled" && it.reason == "deadlock":
			return grant{}, ErrDeadlock
		case it.event == "cancelled", it.event == "superseded":
			return grant{}, fmt.Errorf("%w: %s", ErrWaitEnded, it.event)
		}
	}
}

func (a *acquisition) stillWaits(ctx context.Context) bool {
	got := a.send(ctx, words{"POSITION", a.keys[0], a.owner}, grace)
	if got.err != nil {
		return mayLeaveSomething(got.err)
	}
	return got.reply != nil
}

// askWhy asks once more, without waiting: the message about a time-out names no holders.
func (a *acquisition) askWhy(ctx context.Context) (grant, error) {
	got := a.send(ctx, a.lock(a.owner, new(duration), "", true), grace)
	if got.err != nil {
		return grant{}, got.err
	}
	why := parseExplanation(got.reply)
	if why.token == nil {
		why.Status = "timeout"
	}
	return a.decide(ctx, why, got.sentAt)
}
