package fairlock

import "context"

// holdContext also ends if the lease ran out while the process was stopped, before any timer.
type holdContext struct {
	context.Context
	hold *Hold
	end  context.CancelFunc
}

// Err ends the context if the hold has ended.
func (c holdContext) Err() error {
	if c.hold.Check() != nil {
		c.end()
	}
	return c.Context.Err()
}

// under returns a context that ends with parent and with the hold.
func (h *Hold) under(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancel(parent)
	h.onEnd(end)
	return holdContext{ctx, h, end}, end
}
