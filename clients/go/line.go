package fairlock

import (
	"context"
	"time"
)

// The last line of a connection is kept for this long after its last use, because it may be used
// again soon.
const unusedMax = time.Second

// line is the subscription to one name of a channel: the only name or, in a fleet of several
// partitions, the name for the keys of one slot.
type line struct {
	channel   *Channel
	to        route
	name      string
	listeners listeners
	confirmed chan struct{} // has a value when the server has confirmed the subscription

	// The mutex of the channel protects these.
	uses    int
	unused  *time.Timer
	feed    *feed         // nil until it is subscribed
	settled chan struct{} // closed when it is subscribed, or has failed
	failure error         // the last one
	isOver  bool          // whether it has failed for good
}

func newLine(c *Channel, to route) *line {
	return &line{channel: c, to: to, name: to.channelName(c.id),
		listeners: listeners{byName: map[listenerName]*listener{}},
		confirmed: make(chan struct{}, 1)}
}

// leave removes a listener; the line may be nil.
func (l *line) leave(keys []string, owner string, it *listener) {
	if l == nil {
		return
	}
	l.listeners.remove(keys, owner, it)
	l.channel.mu.Lock()
	defer l.channel.mu.Unlock()
	l.uses--
	l.endIfUnused()
}

// endIfUnused is called with the mutex of the channel held.
func (l *line) endIfUnused() {
	switch {
	case l.uses > 0 || l.feed == nil || l.channel.isClosed:
	case len(l.feed.lines) > 1:
		go l.end()
	case l.unused == nil:
		l.unused = time.AfterFunc(unusedMax, l.end)
	default:
		l.unused.Reset(unusedMax)
	}
}

func (l *line) end() {
	l.channel.mu.Lock()
	f := l.feed
	l.channel.mu.Unlock()
	if f != nil {
		f.unsubscribe(l)
	}
}

// ready waits until the line is subscribed, and returns the connection.
func (l *line) ready(ctx context.Context, patience duration) (*feed, error) {
	f, settled, err := l.state()
	if f != nil || err != nil {
		return f, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for ; f == nil && err == nil; f, settled, err = l.state() {
		select {
		case <-settled:
		case <-l.channel.stop:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, l.lastFailure()
		}
	}
	return f, err
}

func (l *line) state() (*feed, chan struct{}, error) {
	l.channel.mu.Lock()
	defer l.channel.mu.Unlock()
	switch {
	case l.channel.isClosed:
		return nil, nil, errChannelClosed
	case l.isOver:
		return nil, nil, l.failure
	}
	return l.feed, l.settled, nil
}

func (l *line) lastFailure() error {
	l.channel.mu.Lock()
	defer l.channel.mu.Unlock()
	if l.failure != nil {
		return l.failure
	}
	return errChannelCut
}

// start subscribes in another goroutine. The caller holds the mutex of the channel.
func (l *line) start(isAgain bool) {
	if l.channel.isClosed {
		return
	}
	l.feed, l.settled = nil, make(chan struct{})
	l.channel.running.Add(1)
	go func() {
		defer l.channel.running.Done()
		l.subscribe(isAgain)
	}()
}

// subscribe asks again until the line is subscribed, or nothing uses it any more.
func (l *line) subscribe(isAgain bool) {
	var attempts backoff
	for err := l.subscribeOnce(isAgain); err != nil; err = l.subscribeOnce(isAgain) {
		if l.giveUp(err, isAgain) {
			return
		}
		select {
		case <-l.channel.stop:
			return
		case <-time.After(attempts.pause(err)):
		}
	}
}

func (l *line) subscribeOnce(isAgain bool) error {
	node, err := l.to.node(context.Background())
	if err != nil {
		return err
	}
	f, err := l.channel.feedAt(node)
	if err != nil {
		return err
	}
	if err := f.subscribe(l); err != nil {
		_, err = l.to.failed(node, err)
		return err
	}
	if isAgain {
		// What was published in between is lost, so all waits must ask again.
		l.listeners.deliverToAll(message{event: "subscribed"})
	}
	return f.accept(l)
}

// giveUp returns whether a failure is final. A line that was subscribed before tries again.
func (l *line) giveUp(err error, isAgain bool) bool {
	l.channel.mu.Lock()
	defer l.channel.mu.Unlock()
	l.failure = err
	if l.channel.isClosed {
		return true
	}
	l.isOver = l.uses == 0 || !isAgain && !isTemporary(err)
	if l.isOver {
		delete(l.channel.lines, l.to.slot())
		close(l.settled)
	}
	return l.isOver
}
