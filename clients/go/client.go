package fairlock

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Client is a *redis.Client, also one that follows Sentinel, or a *redis.ClusterClient for a fleet of
// several partitions. A type that embeds one of them will do, too.
type Client = redis.UniversalClient

// route leads to the server of a key.
type route interface {
	// slot is the hash slot of the key; everySlot if one server has all keys.
	slot() int
	// node returns our client of that server.
	node(ctx context.Context) (*redis.Client, error)
	// failed takes note of an error of that server. It returns whether the same request, which was
	// not executed, can be sent again at once, and otherwise the error to be returned.
	failed(node *redis.Client, err error) (again bool, reason error)
	// channelName returns the name of the NOTIFY channel for the key.
	channelName(id string) string
}

const everySlot = -1

// plainRoute leads to the one server of a client.
type plainRoute struct{ client *redis.Client }

func (r plainRoute) slot() int { return everySlot }

func (r plainRoute) node(context.Context) (*redis.Client, error) { return r.client, nil }

func (r plainRoute) failed(_ *redis.Client, err error) (bool, error) {
	if isMoved(err) {
		return false, fmt.Errorf("%w: %s", ErrNeedsCluster, err)
	}
	return false, err
}

func (r plainRoute) channelName(id string) string { return id }

func isMoved(err error) bool { return strings.HasPrefix(err.Error(), "MOVED ") }
