package fairlock

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

const (
	subscribeMax = 5 * time.Second
	// After this time without a message, the connection is checked.
	silenceMax = 5 * time.Second
)

// Channel lets any number of locks wait over one connection; their requests use one more. It also
// reports a lost hold at once, instead of at its next renewal. Pass it to Lock with WithChannel.
type Channel struct {
	client    *redis.Client
	name      string
	silence   duration
	gate      chan struct{} // held during each request, so that all use the same connection
	listeners listeners
	stop      chan struct{}
	ended     chan struct{}

	mu           sync.Mutex
	isClosed     bool
	subscription *redis.PubSub
}

// NewChannel subscribes to a new channel of the server. While the server cannot be reached, it asks
// again, for 5 s.
func NewChannel(client *redis.Client) (*Channel, error) { return newChannel(client, silenceMax) }

func newChannel(client *redis.Client, silence duration) (*Channel, error) {
	c := &Channel{client: client, name: "fairlock:" + makeOwner(), silence: silence,
		gate: make(chan struct{}, 1), listeners: listeners{byName: map[listenerName]*listener{}},
		stop: make(chan struct{}), ended: make(chan struct{})}
	giveUpAt := now() + subscribeMax
	var attempts backoff
	for err := c.subscribe(); err != nil; err = c.subscribe() {
		if !isTemporary(err) || now() >= giveUpAt {
			return nil, translated(err)
		}
		time.Sleep(attempts.pause(err))
	}
	go c.read()
	return c, nil
}

// Close closes the connection. Do this after the last wait.
func (c *Channel) Close() error {
	c.mu.Lock()
	wasClosed := c.isClosed
	c.isClosed = true
	if !wasClosed {
		close(c.stop)
	}
	c.mu.Unlock()
	c.unsubscribe()
	<-c.ended
	c.listeners.deliverToAll(message{event: "subscribed"}) // Waits find out that it is closed.
	return nil
}

func (c *Channel) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.isClosed
}

func (c *Channel) gateOrNil() chan struct{} {
	if c == nil {
		return nil
	}
	return c.gate
}

// subscribe waits until the server has confirmed the subscription.
func (c *Channel) subscribe() error {
	s, err := c.client.Subscribe(c.name)
	if err != nil {
		return err
	}
	if _, err := s.ReceiveTimeout(subscribeMax); err != nil {
		s.Close()
		return fmt.Errorf("fairlock: SUBSCRIBE: %w", err)
	}
	c.mu.Lock()
	c.subscription = s
	isClosed := c.isClosed
	c.mu.Unlock()
	if isClosed {
		c.unsubscribe()
	}
	return nil
}

// unsubscribe closes the connection, which wakes the reader.
func (c *Channel) unsubscribe() {
	c.mu.Lock()
	s := c.subscription
	c.subscription = nil
	c.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// read delivers messages, and subscribes again after failures.
func (c *Channel) read() {
	defer close(c.ended)
	var attempts backoff
	for {
		err := c.readUntilFailure()
		for err != nil {
			c.unsubscribe()
			select {
			case <-c.stop:
				return
			case <-time.After(attempts.pause(err)):
			}
			warn("the channel subscribes again: %v", err)
			err = c.subscribe()
		}
		attempts = backoff{}
		// What was published in between is lost, so all waits must ask again.
		c.listeners.deliverToAll(message{event: "subscribed"})
	}
}

func (c *Channel) readUntilFailure() error {
	isAsked := false
	for {
		c.mu.Lock()
		s := c.subscription
		c.mu.Unlock()
		if s == nil {
			return errChannelCut
		}
		received, err := s.ReceiveTimeout(c.silence)
		var network net.Error
		isSilent := errors.As(err, &network) && network.Timeout()
		switch {
		case isSilent && !isAsked:
			isAsked = true
			err = s.Ping()
		case err == nil:
			isAsked = false
			c.deliver(received)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Channel) deliver(received interface{}) {
	published, ok := received.(*redis.Message)
	if !ok {
		return // the confirmation of SUBSCRIBE or the answer to PING
	}
	it, err := parseMessage(published.Payload)
	if err != nil {
		warn("%v", err) // Any client may publish.
		return
	}
	c.listeners.deliver(it)
}
