package fairlock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer is a reply, and a time before its request was sent.
type answer struct {
	reply  interface{} // nil, string, int64, []interface{} or map[interface{}]interface{}
	sentAt duration
	err    error
}

// words are a command, as go-redis takes it.
type words []interface{}

const redirectionsMax = 5

// endless is a context without its deadline, which would close the connection of a request.
type endless struct{ context.Context }

func (endless) Deadline() (time.Time, bool) { return time.Time{}, false }

// ask sends a command once to the server of a key. The server answers at once, so the end of ctx
// does not interrupt a request that was sent: its outcome would not be known.
func ask(ctx context.Context, to route, command words) answer {
	return askUntilEnd(endless{ctx}, to, command)
}

// askUntilEnd gives up at the deadline of ctx.
func askUntilEnd(ctx context.Context, to route, command words) answer {
	for redirections := 0; ; redirections++ {
		node, err := to.node(ctx)
		if err != nil {
			return answer{err: err}
		}
		sentAt := now()
		reply, err := node.Do(ctx, command...).Result()
		if err == nil || err == redis.Nil {
			return answer{reply, sentAt, nil}
		}
		again, err := to.failed(node, err)
		if !again || redirections == redirectionsMax {
			return answer{err: err}
		}
	}
}
