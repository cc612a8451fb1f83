package fairlock

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// feed is a connection of a channel on which one server sends messages.
type feed struct {
	channel      *Channel
	node         *redis.Client
	subscription *redis.PubSub
	ended        chan struct{}

	writing   sync.Mutex // held while a command is written; locked before the mutex of the channel
	isReading bool

	// The mutex of the channel protects these.
	lines    map[string]*line // the lines by name
	isClosed bool
	failure  error
}

func newFeed(c *Channel, node *redis.Client) *feed {
	// Without a name, it does not connect yet.
	return &feed{channel: c, node: node, subscription: node.Subscribe(context.Background()),
		ended: make(chan struct{}), lines: map[string]*line{}}
}

// subscribe waits until the server has confirmed the subscription.
func (f *feed) subscribe(l *line) error {
	if err := f.sendSubscribe(l); err != nil {
		f.close(err)
		return err
	}
	timer := time.NewTimer(subscribeMax)
	defer timer.Stop()
	select {
	case <-l.confirmed:
		return nil
	case <-f.ended:
		return f.failure
	case <-timer.C:
		f.close(errNoAnswer)
		return errNoAnswer
	}
}

func (f *feed) sendSubscribe(l *line) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := f.add(l); err != nil {
		return err
	}
	f.unsubscribeIfUnused(f.otherThan(l))
	err := f.subscription.Subscribe(context.Background(), l.name)
	if err == nil && !f.isReading {
		f.isReading = true
		f.channel.running.Add(1)
		go f.read()
	}
	return err
}

func (f *feed) add(l *line) error {
	f.channel.mu.Lock()
	defer f.channel.mu.Unlock()
	if f.isClosed {
		return f.failure
	}
	select {
	case <-l.confirmed: // The signal is from a connection that was lost.
	default:
	}
	f.lines[l.name] = l
	return nil
}

// accept ends the subscription of a line, unless the connection was lost meanwhile.
func (f *feed) accept(l *line) error {
	f.channel.mu.Lock()
	defer f.channel.mu.Unlock()
	if f.isClosed {
		return f.failure
	}
	l.feed = f
	close(l.settled)
	l.endIfUnused()
	return nil
}

// unsubscribe ends a line, unless it is used again. The last one ends the connection.
func (f *feed) unsubscribe(l *line) {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.unsubscribeIfUnused(l)
}

// unsubscribeIfUnused is called with the mutex for writing held.
func (f *feed) unsubscribeIfUnused(l *line) {
	isRemoved, isLast := f.remove(l)
	switch {
	case isLast:
		f.close(errChannelCut)
	case isRemoved:
		f.subscription.Unsubscribe(context.Background(), l.name)
	}
}

// otherThan returns the only other line, which may have been kept although it is unused.
func (f *feed) otherThan(l *line) (other *line) {
	f.channel.mu.Lock()
	defer f.channel.mu.Unlock()
	if len(f.lines) == 2 {
		for _, it := range f.lines {
			if it != l {
				other = it
			}
		}
	}
	return other
}

func (f *feed) remove(l *line) (isRemoved, isLast bool) {
	f.channel.mu.Lock()
	defer f.channel.mu.Unlock()
	if l == nil || l.uses > 0 || l.feed != f || f.isClosed {
		return false, false
	}
	l.feed = nil
	delete(f.channel.lines, l.to.slot())
	delete(f.lines, l.name)
	return true, len(f.lines) == 0
}

// close ends the connection. Its lines subscribe again, where their keys are then served.
func (f *feed) close(reason error) {
	f.channel.mu.Lock()
	wasClosed := f.isClosed
	if !wasClosed {
		f.isClosed, f.failure = true, reason
		delete(f.channel.feeds, f.node)
		close(f.ended)
		for _, l := range f.lines {
			if l.feed == f {
				l.to.failed(f.node, errChannelCut)
				l.start(true)
			}
		}
	}
	f.channel.mu.Unlock()
	if !wasClosed {
		f.subscription.Close() // wakes the reader
	}
}

func (f *feed) read() {
	defer f.channel.running.Done()
	err := f.readUntilFailure()
	select {
	case <-f.ended:
	default:
		warn("the channel subscribes again: %v", err)
	}
	f.close(err)
}

func (f *feed) readUntilFailure() error {
	isAsked := false
	for {
		received, err := f.subscription.ReceiveTimeout(context.Background(), f.channel.silence)
		var network net.Error
		isSilent := errors.As(err, &network) && network.Timeout()
		switch {
		case isSilent && !isAsked:
			isAsked = true
			err = f.ping()
		case err == nil:
			isAsked = false
			f.take(received)
		}
		if err != nil {
			return err
		}
	}
}

func (f *feed) ping() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.subscription.Ping(context.Background())
}

func (f *feed) take(received interface{}) {
	switch it := received.(type) {
	case *redis.Subscription:
		if l := f.line(it.Channel); l != nil && it.Kind == "subscribe" {
			select {
			case l.confirmed <- struct{}{}:
			default:
			}
		}
	case *redis.Message:
		text, err := parseMessage(it.Payload)
		if err != nil {
			warn("%v", err) // Any client may publish.
		} else if l := f.line(it.Channel); l != nil {
			l.listeners.deliver(text)
		}
	}
}

func (f *feed) line(name string) *line {
	f.channel.mu.Lock()
	defer f.channel.mu.Unlock()
	return f.lines[name]
}
