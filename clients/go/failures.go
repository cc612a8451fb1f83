package fairlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	pauseMin = 50 * time.Millisecond
	pauseMax = time.Second
	// After a restart, go-redis finds out about each idle connection of its pool separately.
	staleConnectionsMax = 16
)

// After these errors it is worth asking again.
var (
	errNoAnswer    = errors.New("fairlock: the server did not answer in time")
	errUnconfirmed = errors.New("fairlock: the lease ended before its grant was confirmed")
	errChannelCut  = errors.New("fairlock: the connection of the channel was lost")
)

var errChannelClosed = errors.New("fairlock: the channel is closed")

// These texts are part of errors of go-redis and of the server that have no type.
var temporaryTexts = []string{
	"CLUSTERDOWN ", "LOADING ", "NOQUORUM ", "TRYAGAIN ", "READONLY ",
	noSubscriber, // A channel has no subscriber while its connection is re-established.
	"redis: connection pool timeout", "redis: all sentinels",
}

const noSubscriber = "has no subscriber"

func isWithoutSubscriber(err error) bool { return strings.Contains(err.Error(), noSubscriber) }

// isTemporary returns whether the same request may succeed later: the server is restarting, or
// fails over.
func isTemporary(err error) bool {
	for _, ours := range []error{errNoAnswer, errUnconfirmed, errChannelCut, errNoLeader,
		errMoves, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, ours) {
			return true
		}
	}
	var operation *net.OpError
	if errors.As(err, &operation) && strings.HasSuffix(operation.Op, " error") {
		return false // "remote error", "local error": an alert of TLS.
	}
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	for _, text := range temporaryTexts {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// translated returns the error of this package for an error reply, or the error itself.
func translated(err error) error {
	word, text, _ := strings.Cut(err.Error(), " ")
	switch {
	case word == "DEADLOCK":
		return fmt.Errorf("%w: %s", ErrDeadlock, text)
	case word == "SUPERSEDED", word == "CANCELLED", word == "UNBLOCKED":
		return fmt.Errorf("%w: %s", ErrWaitEnded, err)
	case strings.Contains(strings.ToLower(err.Error()), "unknown command"):
		return fmt.Errorf("%w: %s", ErrNotFairlock, err)
	}
	return err
}

// mayLeaveSomething returns whether a request that failed may have left a place or a hold.
func mayLeaveSomething(err error) bool {
	return isOfContext(err) || isTemporary(err) || err == errChannelClosed
}

func isOfContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// backoff makes growing pauses between attempts. Clients that lost one server do not return all at
// once.
type backoff struct {
	last  duration
	stale int
}

func (b *backoff) pause(err error) duration {
	var operation *net.OpError
	isDial := errors.As(err, &operation) && operation.Op == "dial"
	isClosed := errors.Is(err, io.EOF) || operation != nil && !isDial && !operation.Timeout()
	switch {
	case isClosed && b.stale < staleConnectionsMax:
		b.stale++
		return time.Millisecond
	case b.last == 0:
		b.last = pauseMin
	case b.last < pauseMax:
		b.last *= 2
	}
	// The nanoseconds of the clock are random enough, and different in each process.
	return b.last/2 + duration(time.Now().UnixNano())%(b.last/2)
}

// sleep returns early if ctx ends.
func sleep(ctx context.Context, d duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func shorter(a, b duration) duration {
	if a < b {
		return a
	}
	return b
}
