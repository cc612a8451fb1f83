package fairlock_test

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// slowPath is a network on which requests and replies take different times.
type slowPath struct {
	*bench
	delay        atomic.Int64
	requestDelay atomic.Int64
}

type slowConnection struct {
	net.Conn
	path     *slowPath
	deadline atomic.Pointer[time.Time] // for reading
}

func newSlowPath(b *bench, delay time.Duration) *slowPath {
	path := &slowPath{bench: b}
	path.setDelay(delay)
	return path
}

func (s *slowPath) setDelay(delay time.Duration) { s.delay.Store(int64(delay)) }

func (s *slowPath) client() *redis.Client {
	return s.clientWith(redis.Options{Dialer: func(context.Context, string, string) (net.Conn, error) {
		connection, err := net.Dial("tcp", s.server.address())
		return &slowConnection{Conn: connection, path: s}, err
	}})
}

func (c *slowConnection) SetDeadline(at time.Time) error {
	c.deadline.Store(&at)
	return c.Conn.SetDeadline(at)
}

func (c *slowConnection) SetReadDeadline(at time.Time) error {
	c.deadline.Store(&at)
	return c.Conn.SetReadDeadline(at)
}

// Read delays what has arrived, unless the deadline is earlier.
func (c *slowConnection) Read(bytes []byte) (int, error) {
	n, err := c.Conn.Read(bytes)
	delay := time.Duration(c.path.delay.Load())
	if deadline := c.deadline.Load(); deadline != nil && !deadline.IsZero() {
		if left := time.Until(*deadline); left < delay {
			time.Sleep(left)
			return 0, os.ErrDeadlineExceeded
		}
	}
	time.Sleep(delay)
	return n, err
}

func (c *slowConnection) Write(bytes []byte) (int, error) {
	time.Sleep(time.Duration(c.path.requestDelay.Load()))
	return c.Conn.Write(bytes)
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(background, d)
}
