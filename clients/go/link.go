package fairlock

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// The server answers each request at once. A longer read time-out of the program's client is for
	// other commands.
	requestMax = 5 * time.Second
	// Connections that no lock has used for this long are closed.
	idleMax = time.Minute
)

// link has the connections of this package to the servers of a client. They are its own: a request
// must neither wait until the program returns a connection to its pool, nor be repeated by go-redis,
// after which nobody knows what the reply is about.
type link struct {
	options interface{} // the options of the program's client, which name the link
	single  *redis.Client
	fleet   *fleet // nil if one server has all keys
	// All waits without a channel of their own use this one.
	channel *Channel

	// The mutex of links protects these.
	uses   int
	usedAt time.Time
	timer  *time.Timer
}

// links are those that were in use lately.
var links = struct {
	mu        sync.Mutex
	byOptions map[interface{}]*link
}{byOptions: map[interface{}]*link{}}

// linkOf returns the link of a client, to be left with leave.
func linkOf(client Client) (*link, error) {
	options := optionsOf(client)
	if options == nil {
		return nil, fmt.Errorf("fairlock: the client must be a *redis.Client or a "+
			"*redis.ClusterClient, got %T", client)
	}
	links.mu.Lock()
	defer links.mu.Unlock()
	l := links.byOptions[options]
	if l == nil {
		l = newLink(client, options)
		links.byOptions[options] = l
	}
	l.uses++
	return l, nil
}

type plainClient interface{ Options() *redis.Options }

// optionsOf returns the options of a client, which are at the same address each time.
func optionsOf(client Client) interface{} {
	if value := reflect.ValueOf(client); value.Kind() == reflect.Ptr && value.IsNil() {
		return nil
	}
	switch client := client.(type) {
	case plainClient:
		return client.Options()
	case clusterClient:
		return client.Options()
	}
	return nil
}

func newLink(client Client, options interface{}) *link {
	l := &link{options: options}
	if options, ok := options.(*redis.Options); ok {
		l.single = redis.NewClient(ownOptions(options))
	} else {
		l.fleet = newFleet(client.(clusterClient))
	}
	l.channel = newChannel(l, silenceMax)
	l.timer = time.AfterFunc(idleMax, func() { l.closeIfIdle(idleMax) })
	return l
}

func (l *link) route(key string) route {
	if l.fleet == nil {
		return plainRoute{l.single}
	}
	return &fleetRoute{l.fleet, key, slotOf(key)}
}

// use counts another user, which goes on when the first one leaves.
func (l *link) use() {
	links.mu.Lock()
	defer links.mu.Unlock()
	l.uses++
}

func (l *link) leave() {
	links.mu.Lock()
	defer links.mu.Unlock()
	l.uses--
	l.usedAt = time.Now()
}

// closeIfIdle closes the connections, unless they are used, or were used during this time.
func (l *link) closeIfIdle(during duration) {
	links.mu.Lock()
	if l.uses > 0 || time.Since(l.usedAt) < during {
		l.timer.Reset(idleMax)
		links.mu.Unlock()
		return
	}
	delete(links.byOptions, l.options)
	links.mu.Unlock()
	l.channel.Close()
	if l.fleet == nil {
		l.single.Close()
	} else {
		l.fleet.close()
	}
}

// ownOptions are the options of connections like the client's, for requests that are answered at
// once.
func ownOptions(of *redis.Options) *redis.Options {
	own := *of
	own.MaxRetries = -1
	own.MinIdleConns = 0
	own.Limiter = nil
	own.ContextTimeoutEnabled = true
	if own.ReadTimeout <= 0 || own.ReadTimeout > requestMax {
		own.ReadTimeout = requestMax
	}
	if own.WriteTimeout <= 0 || own.WriteTimeout > requestMax {
		own.WriteTimeout = requestMax
	}
	for name, value := range newerOptions {
		if field := reflect.ValueOf(&own).Elem().FieldByName(name); field.IsValid() {
			if value == nil {
				field.Set(reflect.Zero(field.Type()))
			} else {
				field.Set(reflect.ValueOf(value))
			}
		}
	}
	return &own
}

// newerOptions are set if this version of go-redis has them. They make one attempt to connect for
// each attempt of ours, and share nothing with the program's client.
var newerOptions = map[string]interface{}{
	"DialerRetries": 1, "NodeAddress": nil, "PushNotificationProcessor": nil,
	"ClientSideCacheConfig": nil, "ClientSideCache": nil, "AutoPipelineOptions": nil,
}
