package fairlock_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

const waitMax = 40 * time.Second

var background = context.Background()

func TestMain(m *testing.M) {
	// The tests cause the failures that the library warns of.
	fairlock.SetLogger(log.New(io.Discard, "", 0))
	redis.SetLogger(silent{})
	os.Exit(runChildOr(m.Run))
}

type silent struct{}

func (silent) Printf(context.Context, string, ...interface{}) {}

// bench is a server, and a view of its locks from outside.
type bench struct {
	*testing.T
	server  *server
	outside *redis.Client
}

func newBench(t *testing.T) *bench {
	t.Parallel()
	return benchOn(t, newEphemeralServer(t))
}

func benchOn(t *testing.T, s *server) *bench {
	b := &bench{T: t, server: s}
	b.outside = b.client()
	return b
}

// skipIfShort is for tests that build programs, which the race detector does not see.
func skipIfShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
}

func (b *bench) client() *redis.Client { return b.clientWith(redis.Options{}) }

func (b *bench) clientWith(options redis.Options) *redis.Client {
	options.Addr = b.server.address()
	if options.ReadTimeout == 0 {
		options.ReadTimeout = 30 * time.Second
	}
	options.Protocol = 2 // The replies that the tests read themselves are lists.
	client := redis.NewClient(&options)
	b.Cleanup(func() { client.Close() })
	return client
}

func (b *bench) ask(words ...interface{}) interface{} {
	b.Helper()
	reply, err := tell(b.outside, words...)
	if err != nil {
		b.Fatalf("%v: %v", words, err)
	}
	return reply
}

func tell(client *redis.Client, words ...interface{}) (interface{}, error) {
	reply, err := client.Do(background, words...).Result()
	if err == redis.Nil {
		err = nil
	}
	return reply, err
}

// waiters returns the owners in the queue, separated by commas.
func (b *bench) waiters(key string) string {
	return ownersOf(b.ask("QUEUE", key))
}

// ownersOf reads the reply to QUEUE.
func ownersOf(reply interface{}) string {
	var owners []string
	for _, place := range reply.([]interface{}) {
		fields := place.([]interface{})
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == "owner" {
				owners = append(owners, fields[i+1].(string))
			}
		}
	}
	return strings.Join(owners, ",")
}

func (b *bench) expectNothingLeft(keys ...string) {
	b.Helper()
	for _, key := range keys {
		if held, waiting := b.ask("LOCKED", key), b.waiters(key); held != int64(0) || waiting != "" {
			b.Errorf("%s: held by %v, waiters %q", key, held, waiting)
		}
	}
}

// commands returns how often the server has executed this command.
func (b *bench) commands(name string) (calls int) {
	b.Helper()
	statistics := b.ask("INFO", "commandstats").(string)
	if _, after, found := strings.Cut(statistics, "cmdstat_"+name+":calls="); found {
		fmt.Sscanf(after, "%d", &calls)
	}
	return calls
}

func (b *bench) until(what string, condition func() bool) {
	b.Helper()
	for giveUp := time.Now().Add(waitMax); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(giveUp) {
			b.Fatalf("it did not become true: %s", what)
		}
	}
}

func (b *bench) untilWaiting(key, owners string) {
	b.Helper()
	b.until("waiting for "+key+": "+owners, func() bool { return b.waiters(key) == owners })
}

func (b *bench) lock(client fairlock.Client, key string,
	options ...fairlock.Option) *fairlock.Hold {
	b.Helper()
	hold, err := fairlock.Lock(background, client, key, options...)
	if err != nil {
		b.Fatal(err)
	}
	return hold
}

func (b *bench) token(hold *fairlock.Hold) int64 {
	b.Helper()
	token, err := hold.Token()
	if err != nil {
		b.Fatal(err)
	}
	return token
}

func (b *bench) expectHeld(hold *fairlock.Hold) {
	b.Helper()
	token := b.token(hold)
	for _, key := range hold.Keys() {
		if b.ask("CHECK", key, token) != int64(1) {
			b.Errorf("%s is not held", key)
		}
	}
}

func (b *bench) unlock(hold *fairlock.Hold) {
	b.Helper()
	if err := hold.Unlock(background); err != nil {
		b.Error(err)
	}
}

type outcome struct {
	hold *fairlock.Hold
	err  error
}

// pending is an acquisition in another goroutine.
type pending chan outcome

func startLock(ctx context.Context, client fairlock.Client, key string,
	options ...fairlock.Option) pending {
	result := make(pending, 1)
	go func() {
		hold, err := fairlock.Lock(ctx, client, key, options...)
		result <- outcome{hold, err}
	}()
	return result
}

func (b *bench) result(of pending) (*fairlock.Hold, error) {
	b.Helper()
	select {
	case got := <-of:
		return got.hold, got.err
	case <-time.After(waitMax):
		b.Fatal("Lock did not return")
		return nil, nil
	}
}

func (b *bench) granted(of pending) *fairlock.Hold {
	b.Helper()
	hold, err := b.result(of)
	if err != nil {
		b.Fatal(err)
	}
	return hold
}

func (b *bench) expect(ok bool, format string, values ...interface{}) {
	b.Helper()
	if !ok {
		b.Errorf(format, values...)
	}
}
