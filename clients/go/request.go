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

// request is a command that is being executed. go-redis cannot interrupt it, but its last word,
// which go-redis encodes just before it sends the command, can refuse.
type request struct {
	last string
	done chan struct{} // closed when result is complete

	mu        sync.Mutex
	sentAt    duration
	isSent    bool
	withdrawn bool

	result answer
}

// startRequest executes the command in another goroutine. The gate, which may be nil, is held meanwhile.
func startRequest(client *redis.Client, gate chan struct{}, words []string) *request {
	r := &request{last: words[len(words)-1], done: make(chan struct{})}
	arguments := make([]interface{}, len(words))
	for i, word := range words {
		arguments[i] = word
	}
	arguments[len(words)-1] = r
	go func() {
		defer close(r.done)
		if gate != nil {
			gate <- struct{}{}
			defer func() { <-gate }()
		}
		command := redis.NewCmd(arguments...)
		err := client.Process(command)
		if err == redis.Nil {
			err = nil
		}
		r.result = answer{command.Val(), r.sentAt, err}
	}()
	return r
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
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.result
	case <-ctx.Done():
		r.withdraw()
		return answer{err: ctx.Err()}
	case <-timer.C:
		r.withdraw()
		return answer{err: errNoAnswer}
	}
}
