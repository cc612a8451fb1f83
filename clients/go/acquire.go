package fairlock

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// The server ends a wait itself. The client waits this much longer before it suspects that the
	// message was lost.
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
	token      int64
	sentAt     duration
	answeredAt duration
}

// acquisition asks for a lock until it is granted or denied, or the wait is over.
type acquisition struct {
	*settings
	link         *link
	to           route
	begunAt      time.Time
	giveUpAt     duration
	line         *line // nil until it waits over a channel
	mail         *mailbox
	listener     *listener
	isUnanswered bool // a request may have been executed without an answer
}

func newAcquisition(l *link, wanted *settings) *acquisition {
	a := &acquisition{settings: wanted, link: l, to: l.route(wanted.keys[0]), begunAt: time.Now(),
		giveUpAt: forever}
	if wanted.wait != nil {
		a.giveUpAt = now() + *wanted.wait
	}
	if wanted.channel != nil && a.mayWait() {
		a.join(wanted.channel)
	}
	return a
}

func (a *acquisition) mayWait() bool { return a.wait == nil || *a.wait > 0 }

func (a *acquisition) join(channel *Channel) {
	a.mail = newMailbox()
	a.listener = &listener{a.mail.put}
	a.line = channel.join(a.to)
	a.line.listeners.set(a.keys, a.owner, a.listener)
}

// run asks again while the server cannot be reached. The same owner keeps its place. After the end
// of ctx, nothing is granted.
func (a *acquisition) run(ctx context.Context) (grant, error) {
	var attempts backoff
	for {
		got, err := a.ask(ctx)
		switch {
		case ctx.Err() != nil:
			return grant{}, ctx.Err()
		case err == nil:
			return got, nil
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

func (a *acquisition) send(ctx context.Context, command words) answer {
	got := ask(ctx, a.to, command)
	if got.err != nil && mayLeaveSomething(got.err) {
		a.isUnanswered = true
	}
	return got
}

// waitNow is what is left of the wait, but never 0. It is nil if the wait has no end.
func (a *acquisition) waitNow() *duration {
	if a.wait == nil {
		return nil
	}
	left := a.left()
	if left < time.Millisecond {
		left = time.Millisecond
	}
	return &left
}

// ask joins the channel only if the lock is not free: most locks are, and need a single request.
func (a *acquisition) ask(ctx context.Context) (grant, error) {
	nested := a.nested(ctx, a.link)
	if a.line != nil && nested == nil {
		return a.askOverChannel(ctx)
	}
	got := a.send(ctx, a.lock(a.owner, new(duration), "", false))
	if got.err != nil {
		return grant{}, got.err
	}
	if token, ok := got.reply.(int64); ok {
		return a.accept(ctx, token, got.sentAt)
	}
	if !a.mayWait() {
		return a.askWhy(ctx, "")
	}
	if nested != nil {
		return grant{}, nested
	}
	a.join(a.link.channel)
	return a.askOverChannel(ctx)
}

func (a *acquisition) askOverChannel(ctx context.Context) (grant, error) {
	connection, err := a.line.ready(ctx, a.left())
	if err != nil {
		return grant{}, err
	}
	// A message about an earlier request must not be taken for the answer to this one.
	a.mail.takeAll()
	// Without an explanation, nil means a place in the queue, unless there are too many waiters.
	explains := a.maxWaiters != nil
	got := a.send(ctx, a.lock(a.owner, a.waitNow(), a.line.name, explains))
	if got.err != nil {
		if isWithoutSubscriber(got.err) {
			connection.close(got.err) // The subscription is not at the server that has the key.
		}
		return grant{}, got.err
	}
	if token, ok := got.reply.(int64); ok {
		return a.accept(ctx, token, got.sentAt)
	}
	if explains {
		if why := parseExplanation(got.reply); why.Status != "queued" {
			return a.decide(ctx, why, got.sentAt)
		}
	}
	return a.listen(ctx, got.sentAt)
}

func (a *acquisition) decide(ctx context.Context, why Explanation, sentAt duration) (grant, error) {
	if why.token == nil {
		return grant{}, &DeniedError{why, a.keys, a.waited()}
	}
	return a.accept(ctx, *why.token, sentAt)
}

// waited is 0 for an acquisition that does not wait.
func (a *acquisition) waited() duration {
	if !a.mayWait() {
		return 0
	}
	return time.Since(a.begunAt)
}

func (a *acquisition) accept(ctx context.Context, token int64, sentAt duration) (grant, error) {
	answeredAt := now()
	if answeredAt-sentAt > a.lease/lateDivisor {
		return a.confirm(ctx, token)
	}
	return grant{token, sentAt, answeredAt}, nil
}

func (a *acquisition) confirm(ctx context.Context, token int64) (grant, error) {
	got := a.send(ctx, a.renew(a.owner, token, a.lease))
	if got.err != nil {
		return grant{}, got.err
	}
	if got.reply != int64(1) {
		return grant{}, errUnconfirmed
	}
	return grant{token, got.sentAt, now()}, nil
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
			return a.askWhy(ctx, "timeout")
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
	got := a.send(ctx, words{"POSITION", a.keys[0], a.owner})
	if got.err != nil {
		return mayLeaveSomething(got.err)
	}
	return got.reply != nil
}

// askWhy asks once more, without waiting, because neither nil nor the message about a time-out
// names the holders.
func (a *acquisition) askWhy(ctx context.Context, status string) (grant, error) {
	got := a.send(ctx, a.lock(a.owner, new(duration), "", true))
	if got.err != nil {
		return grant{}, got.err
	}
	why := parseExplanation(got.reply)
	if why.token == nil && status != "" {
		why.Status = status
	}
	return a.decide(ctx, why, got.sentAt)
}
