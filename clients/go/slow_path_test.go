package fairlock_test

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"gopkg.in/redis.v5"
)

// slowPath is a network on which requests and replies take different times.
type slowPath struct {
	*bench
	delay        atomic.Int64
	requestDelay atomic.Int64
}

type slowConnection struct {
	net.Conn
	path *slowPath
}

func newSlowPath(b *bench, delay time.Duration) *slowPath {
	path := &slowPath{bench: b}
	path.setDelay(delay)
	return path
}

func (s *slowPath) setDelay(delay time.Duration) { s.delay.Store(int64(delay)) }

func (s *slowPath) client() *redis.Client {
	return s.clientWith(redis.Options{Dialer: func() (net.Conn, error) {
		connection, err := net.Dial("tcp", s.server.address())
		return slowConnection{connection, s}, err
	}})
}

func (c slowConnection) Read(bytes []byte) (int, error) {
	n, err := c.Conn.Read(bytes)
	time.Sleep(time.Duration(c.path.delay.Load()))
	return n, err
}

func (c slowConnection) Write(bytes []byte) (int, error) {
	time.Sleep(time.Duration(c.path.requestDelay.Load()))
	return c.Conn.Write(bytes)
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(background, d)
}
