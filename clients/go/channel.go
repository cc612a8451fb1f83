package fairlock

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	subscribeMax = 5 * time.Second
	// After this time without a message, the connection is checked.
	silenceMax = 5 * time.Second
)

// Channel reports a lost hold at once, instead of at its next renewal: pass it to Lock with
// WithChannel. Its waits and reports use one connection; in a fleet of several partitions, one to
// each leader. Without WithChannel, all waits of a client share one channel, which is subscribed only
// while a lock needs it.
type Channel struct {
	id      string
	link    *link
	silence duration
	stop    chan struct{}
	running sync.WaitGroup // counts the goroutines of lines and feeds

	mu       sync.Mutex
	isClosed bool
	lines    map[int]*line // the lines by slot
	feeds    map[*redis.Client]*feed
}

// NewChannel subscribes to a new channel of the server. While the server cannot be reached, it asks
// again, for 5 s. In a fleet of several partitions, the first lock of a key subscribes instead.
func NewChannel(client Client) (*Channel, error) { return openChannel(client, silenceMax) }

func openChannel(client Client, silence duration) (*Channel, error) {
	l, err := linkOf(client)
	if err != nil {
		return nil, err
	}
	c := newChannel(l, silence)
	to := l.route("")
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

func newChannel(l *link, silence duration) *Channel {
	return &Channel{id: "fairlock:" + strings.NewReplacer("{", "(", "}", ")").Replace(makeOwner()),
		link: l, silence: silence, stop: make(chan struct{}), lines: map[int]*line{},
		feeds: map[*redis.Client]*feed{}}
}

// Close closes the connections. Do this after the last wait.
func (c *Channel) Close() error {
	c.mu.Lock()
	wasClosed := c.isClosed
	if !wasClosed {
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
		// Waits notice that the channel is closed.
		l.listeners.deliverToAll(message{event: "subscribed"})
	}
	if !wasClosed && c != c.link.channel {
		c.link.leave()
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
