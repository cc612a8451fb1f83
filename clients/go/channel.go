package fairlock

import (
	"context"
	"strings"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

const (
	subscribeMax = 5 * time.Second
	// After this time without a message, the connection is checked.
	silenceMax = 5 * time.Second
)

// Channel lets any number of locks wait over one connection; their requests use one more. In a
// fleet of several partitions, these are the connections to each leader. A channel also reports a
// lost hold at once, instead of at its next renewal. Pass it to Lock with WithChannel.
type Channel struct {
	id      string
	silence duration
	gates   gates
	stop    chan struct{}
	running sync.WaitGroup // the goroutines of lines and feeds

	mu       sync.Mutex
	isClosed bool
	lines    map[int]*line // by slot
	feeds    map[*redis.Client]*feed
}

// NewChannel subscribes to a new channel of the server. While the server cannot be reached, it asks
// again, for 5 s. In a fleet of several partitions, the first wait for a key subscribes instead.
func NewChannel(client Client) (*Channel, error) { return newChannel(client, silenceMax) }

func newChannel(client Client, silence duration) (*Channel, error) {
	to, err := routeOf(client, "")
	if err != nil {
		return nil, err
	}
	c := &Channel{id: "fairlock:" + strings.NewReplacer("{", "(", "}", ")").Replace(makeOwner()),
		silence: silence, gates: gates{byNode: map[*redis.Client]chan struct{}{}},
		stop: make(chan struct{}), lines: map[int]*line{}, feeds: map[*redis.Client]*feed{}}
	if to.slot() != everySlot {
		return c, nil
	}
	// All locks use this line, so it is never left.
	if _, err := c.join(to).ready(context.Background(), subscribeMax); err != nil {
		c.Close()
		return nil, translated(err)
	}
	return c, nil
}

// Close closes the connections. Do this after the last wait.
func (c *Channel) Close() error {
	c.mu.Lock()
	if !c.isClosed {
		c.isClosed = true
		close(c.stop)
	}
	var feeds []*feed
	for _, f := range c.feeds {
		feeds = append(feeds, f)
	}
	c.mu.Unlock()
	for _, f := range feeds {
		f.close(errChannelClosed)
	}
	c.running.Wait()
	for _, l := range c.allLines() {
		l.listeners.deliverToAll(message{event: "subscribed"}) // Waits find out that it is closed.
	}
	return nil
}

func (c *Channel) allLines() (all []*line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		all = append(all, l)
	}
	return all
}

func (c *Channel) gatesOrNil() *gates {
	if c == nil {
		return nil
	}
	return &c.gates
}

// join returns the line for the slot of a key, to be left with leave.
func (c *Channel) join(to route) *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[to.slot()]
	if l == nil {
		l = newLine(c, to)
		c.lines[to.slot()] = l
		l.start(false)
	}
	l.uses++
	return l
}

// feedAt returns the connection to a server.
func (c *Channel) feedAt(node *redis.Client) (*feed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed {
		return nil, errChannelClosed
	}
	f := c.feeds[node]
	if f == nil {
		f = newFeed(c, node)
		c.feeds[node] = f
	}
	return f, nil
}
