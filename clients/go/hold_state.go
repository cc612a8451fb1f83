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

	mu    sync.Mutex
	lease duration // what the next renewal asks for
	// The lease ends no earlier, because it counts from a time after the request.
	deadline   duration
	lost       string // why the hold is lost; a lost hold never returns
	isOver     bool   // its owner releases it, or has transferred it
	isReleased bool   // there is nothing left to release
	heir       string // the heir of a transfer that was sent and not answered
	rumour     string // why the hold may be lost, unless that was the transfer itself

	isEnded bool
	ctx     context.Context // nil until it is asked for; ends with the hold
	cancel  context.CancelFunc
	atEnd   []func()
	atLoss  func()
}

func newHoldState(keys []string, lease duration, got grant) holdState {
	return holdState{keys: keys, token: got.token, lease: lease, deadline: got.sentAt + lease}
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

// left is the time until the lease ends at the earliest.
func (s *holdState) left() duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline - now()
}

// check returns ErrLostHold unless the lock is certainly held.
func (s *holdState) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOver {
		return fmt.Errorf("%w: %q was released", ErrLostHold, s.keys)
	}
	if s.heir != "" {
		return fmt.Errorf("%w: %q is being transferred to %q, or has been already", ErrLostHold,
			s.keys, s.heir)
	}
	return s.lossNow()
}

// lossNow returns ErrLostHold if the hold is lost. The caller holds mu.
func (s *holdState) lossNow() error {
	if s.isLostNow() {
		return fmt.Errorf("%w: %q: %s", ErrLostHold, s.keys, s.lost)
	}
	return nil
}

// isLostNow reads the clock. The caller holds mu.
func (s *holdState) isLostNow() bool {
	if s.lost == "" && !s.isOver && now() >= s.deadline {
		s.setLost(fmt.Sprintf("its lease of %v ended before it was renewed", s.lease))
	}
	return s.lost != ""
}

// lose records the end of the hold, unless its owner ended it.
func (s *holdState) lose(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loseNow(reason)
}

// loseNow is called with mu held.
func (s *holdState) loseNow(reason string) {
	switch {
	case s.lost != "" || s.isOver:
	case s.heir == "":
		s.setLost(reason)
	case s.rumour == "":
		s.rumour = reason
	}
}

// beginTransfer is called before a transfer is sent. From now on, only a refusal by the server makes
// the hold certain again: a request that is still on its way may be executed after anything that is
// asked meanwhile.
func (s *holdState) beginTransfer(heir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heir = heir
}

// refuseTransfer takes note that the server did not execute it: the hold is what it was.
func (s *holdState) refuseTransfer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heir = ""
	if s.rumour != "" {
		s.loseNow(s.rumour)
	}
}

// endTransfer loses a hold whose transfer was neither confirmed nor refused.
func (s *holdState) endTransfer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heir == "" {
		return
	}
	if s.rumour == "" {
		s.rumour = fmt.Sprintf("the server has not confirmed its transfer to %q", s.heir)
	}
	s.heir = ""
	s.loseNow(s.rumour)
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

// extend takes note of a renewal. None shortens the lease, in whichever order the server executes
// renewals and replies to them.
func (s *holdState) extend(deadline duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isLostNow() && deadline > s.deadline {
		s.deadline = deadline
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

func (s *holdState) setLease(lease duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = lease
}

// renewIn is the time until a third of the lease is left.
func (s *holdState) renewIn() duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deadline - s.lease/3 - now()
}

// beginRelease returns ErrLostHold if the hold was lost before.
func (s *holdState) beginRelease() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := s.lossNow()
	s.isOver = true
	s.end()
	return reason
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

func (s *holdState) hasLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isReleased
}
