package fairlock

import (
	"context"
	"fmt"
	"sync"
)

// holdState is what this process knows about a hold.
type holdState struct {
	keys  []string
	token int64

	mu         sync.Mutex
	lease      duration
	sentAt     duration
	lost       string // why the hold is lost; a lost hold never returns
	isOver     bool   // its owner releases it, or has transferred it
	isReleased bool   // there is nothing left to release
	isLeaving  bool   // a transfer has been sent

	isEnded bool
	ctx     context.Context // nil until it is asked for; ends with the hold
	cancel  context.CancelFunc
	atEnd   []func()
	atLoss  func()
}

func newHoldState(keys []string, lease duration, got grant) holdState {
	return holdState{keys: keys, token: got.token, lease: lease, sentAt: got.sentAt}
}

// context ends with the hold.
func (s *holdState) context() (context.Context, context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
		if s.isEnded {
			s.cancel()
		}
	}
	return s.ctx, s.cancel
}

// left is the time until the lease ends at the earliest: it counts from a time after sentAt.
func (s *holdState) left() duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sentAt + s.lease - now()
}

// check returns ErrLostHold unless the lock is certainly held.
func (s *holdState) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver {
		return fmt.Errorf("%w: %q was released", ErrLostHold, s.keys)
	}
	if s.isLostNow() {
		return fmt.Errorf("%w: %q: %s", ErrLostHold, s.keys, s.lost)
	}
	return nil
}

// isLostNow reads the clock. The caller holds mu.
func (s *holdState) isLostNow() bool {
	if s.lost == "" && !s.isOver && now() >= s.sentAt+s.lease {
		s.setLost(fmt.Sprintf("its lease of %v ended before it was renewed", s.lease))
	}
	return s.lost != ""
}

// lose records the end of the hold, unless its owner ended it.
func (s *holdState) lose(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == "" && !s.isOver && !s.isLeaving {
		s.setLost(reason)
	}
}

// setLost is called once. The caller holds mu.
func (s *holdState) setLost(reason string) {
	s.lost = reason
	s.end()
	if s.atLoss != nil {
		s.atLoss()
	}
}

// end ends the contexts of the hold. The caller holds mu.
func (s *holdState) end() {
	s.isEnded = true
	if s.cancel != nil {
		s.cancel()
	}
	for _, call := range s.atEnd {
		call()
	}
	s.atEnd = nil
}

// onEnd calls a function when the hold ends, or at once if it has ended.
func (s *holdState) onEnd(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEnded {
		call()
		return
	}
	s.atEnd = append(s.atEnd, call)
}

// onLoss calls a function when the hold is lost, or at once if it is.
func (s *holdState) onLoss(call func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atLoss = call
	if s.lost != "" {
		call()
	}
}

// confirm takes note of a renewal that was sent at that time.
func (s *holdState) confirm(lease, sentAt duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isLostNow() {
		s.lease, s.sentAt = lease, sentAt
	}
}

// shorten takes note of a renewal whose outcome is not known.
func (s *holdState) shorten(lease, begunAt duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begunAt+lease < s.sentAt+s.lease {
		s.lease, s.sentAt = lease, begunAt
	}
}

// ending returns whether the hold is over or lost.
func (s *holdState) ending() (isOver, isLost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOver, s.isLostNow()
}

func (s *holdState) currentLease() duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease
}

// renewIn is the time until a third of the lease is left.
func (s *holdState) renewIn() duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sentAt + s.lease/3*2 - now()
}

// beginRelease returns whether the lock was held until now, and whether a release was begun before.
func (s *holdState) beginRelease() (wasHeld, isRepeated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasHeld, isRepeated = !s.isLostNow(), s.isOver
	s.isOver = true
	s.end()
	return wasHeld, isRepeated
}

// setReleased returns whether this is the first call.
func (s *holdState) setReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasReleased := s.isReleased
	s.isOver, s.isReleased = true, true
	s.end()
	return !wasReleased
}

func (s *holdState) setLeaving(isLeaving bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isLeaving = isLeaving
}

func (s *holdState) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isReleased
}
