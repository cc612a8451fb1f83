package fairlock

import (
	"context"
	"sync"
	"time"
)

// mailbox is an unbounded queue of messages.
type mailbox struct {
	mu       sync.Mutex
	messages []message
	arrival  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{arrival: make(chan struct{}, 1)} }

func (m *mailbox) put(it message) {
	m.mu.Lock()
	m.messages = append(m.messages, it)
	m.mu.Unlock()
	wake(m.arrival)
}

// takeAll empties the mailbox.
func (m *mailbox) takeAll() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.messages
	m.messages = nil
	return all
}

func (m *mailbox) takeOne() (message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.messages) == 0 {
		return message{}, false
	}
	first := m.messages[0]
	m.messages = m.messages[1:]
	return first, true
}

// listen waits for a message until ctx ends, or for this time.
func (m *mailbox) listen(ctx context.Context, patience duration) (message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if it, ok := m.takeOne(); ok {
			return it, nil
		}
		select {
		case <-m.arrival:
		case <-ctx.Done():
			return message{}, ctx.Err()
		case <-timer.C:
			return message{}, errNoAnswer
		}
	}
}

// wake sends a signal that is not lost if nobody waits for it yet.
func wake(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}
