package fairlock

import (
	"fmt"
	"strings"
	"sync"

	"gopkg.in/redis.v5"
)

// Client is a *redis.Client, or a *redis.ClusterClient for a fleet of several partitions.
type Client interface {
	Process(command redis.Cmder) error
	Watch(work func(*redis.Tx) error, keys ...string) error
}

// route leads to the server of a key.
type route interface {
	// slot is the hash slot of the key; everySlot if one server has all keys.
	slot() int
	// node returns the client of that server.
	node() (*redis.Client, error)
	// failed takes note of an error of that server. It returns whether the same request, which was
	// not executed, can be sent again at once, and otherwise the error to be returned.
	failed(node *redis.Client, err error) (again bool, reason error)
	// channelName returns the name of the NOTIFY channel for the key.
	channelName(id string) string
}

const everySlot = -1

func routeOf(client Client, key string) (route, error) {
	switch client := client.(type) {
	case *redis.Client:
		return plainRoute{client}, nil
	case *redis.ClusterClient:
		return &fleetRoute{fleetOf(client), key, slotOf(key)}, nil
	}
	return nil, fmt.Errorf("fairlock: the client must be a *redis.Client or a "+
		"*redis.ClusterClient, got %T", client)
}

// plainRoute leads to the one server of a client.
type plainRoute struct{ client *redis.Client }

func (r plainRoute) slot() int { return everySlot }

func (r plainRoute) node() (*redis.Client, error) { return r.client, nil }

func (r plainRoute) failed(_ *redis.Client, err error) (bool, error) {
	if isMoved(err) {
		return false, fmt.Errorf("%w: %s", ErrNeedsCluster, err)
	}
	return false, err
}

func (r plainRoute) channelName(id string) string { return id }

func isMoved(err error) bool { return strings.HasPrefix(err.Error(), "MOVED ") }

const redirectionsMax = 5

// dispatch sends a command to the server of a key, through its gate if there are gates.
func dispatch(to route, through *gates, command *redis.Cmd) error {
	for redirections := 0; ; redirections++ {
		node, err := to.node()
		if err != nil {
			return err
		}
		err = through.process(node, command)
		if err == nil || err == redis.Nil {
			return nil
		}
		again, err := to.failed(node, err)
		if !again || redirections == redirectionsMax {
			return err
		}
	}
}

// gates let one request at a time pass to each server, so that all use the same connection.
type gates struct {
	mu     sync.Mutex
	byNode map[*redis.Client]chan struct{}
}

func (g *gates) process(node *redis.Client, command *redis.Cmd) error {
	if g == nil {
		return node.Process(command)
	}
	gate := g.to(node)
	gate <- struct{}{}
	defer func() { <-gate }()
	return node.Process(command)
}

func (g *gates) to(node *redis.Client) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate := g.byNode[node]
	if gate == nil {
		gate = make(chan struct{}, 1)
		g.byNode[node] = gate
	}
	return gate
}
