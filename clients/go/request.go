package fairlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

var errWithdrawn = errors.New("fairlock: the request was withdrawn before it was sent")

// answer is a reply, and the time just before its request was sent.
type answer struct {
	reply  interface{} // nil, string, int64 or []interface{}
	sentAt duration
	err    error
}

// words are a command, as go-redis takes it.
type words []interface{}

// request is a command that is being executed. go-redis cannot interrupt it, but its last word,
// which go-redis encodes just before it sends the command, can refuse.
type request struct {
	to      route
	through *gates // nil, or passed during the execution
	words   words
	last    string
	done    chan struct{} // closed when result is complete

	mu        sync.Mutex
	sentAt    duration
	isSent    bool
	withdrawn bool

	result answer
}

// startRequest executes the command in another goroutine. The last word must be a string.
func startRequest(to route, through *gates, command words) *request {
	r := newRequest(to, through, command)
	select {
	case idleWorkers <- r:
	default:
		go work(r)
	}
	return r
}

func newRequest(to route, through *gates, command words) *request {
	end := len(command) - 1
	r := &request{to: to, through: through, words: command, last: command[end].(string),
		done: make(chan struct{})}
	command[end] = r
	return r
}

// idleWorkers has a receiver for each goroutine that has executed a request and waits for another:
// a new goroutine would first have to grow its stack.
var idleWorkers = make(chan *request)

const idleMax = time.Second

func work(r *request) {
	idle := time.NewTimer(idleMax)
	for {
		r.execute()
		if !idle.Stop() {
			select {
			case <-idle.C:
			default:
			}
		}
		idle.Reset(idleMax)
		select {
		case r = <-idleWorkers:
		case <-idle.C:
			return
		}
	}
}

func (r *request) execute() {
	defer close(r.done)
	command := redis.NewCmd(r.words...)
	err := dispatch(r.to, r.through, command)
	r.result = answer{command.Val(), r.sentAt, err}
}

// MarshalBinary is called by go-redis, as described above.
func (r *request) MarshalBinary() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.withdrawn {
		return nil, errWithdrawn
	}
	r.isSent, r.sentAt = true, now()
	return []byte(r.last), nil
}

func (r *request) String() string { return r.last }

// withdraw returns false if the request has been sent and may still be executed.
func (r *request) withdraw() bool {
	select {
	case <-r.done:
		return true
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withdrawn = true
	return !r.isSent
}

// await waits for the answer until ctx ends, or for this time. After an error of its own, the
// request is withdrawn.
func (r *request) await(ctx context.Context, patience duration) answer {
	var late <-chan time.Time
	if patience != forever {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-r.done:
		return r.result
	case <-ctx.Done():
		r.withdraw()
		return answer{err: ctx.Err()}
	case <-late:
		r.withdraw()
		return answer{err: errNoAnswer}
	}
}
