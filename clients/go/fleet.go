package fairlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A leader that was lost is looked for at most this often, however many requests wait for it.
const readPause = 50 * time.Millisecond

// These errors are worth asking again.
var (
	errNoLeader = errors.New("fairlock: no node leads the partition of the key")
	errMoves    = errors.New("fairlock: the leader of the partition is changing")
)

type clusterClient interface {
	Options() *redis.ClusterOptions
	ForEachShard(context.Context, func(context.Context, *redis.Client) error) error
}

// fleet has our clients of the nodes of a cluster client, and knows which of them leads which
// partition. A cluster client itself learns of a new leader seconds later, or repeats requests.
type fleet struct {
	client clusterClient

	reading sync.Mutex // held while the partitions are read; locked before mu

	mu         sync.Mutex
	template   *redis.Options           // nil until the cluster client has found a node
	nodes      map[string]*redis.Client // the nodes by address
	partitions []partition
	readAt     duration
}

type partition struct {
	first, last int // slots
	address     string
	isDoubted   bool
}

func newFleet(client clusterClient) *fleet {
	f := &fleet{client: client, nodes: map[string]*redis.Client{}, readAt: -readPause}
	for _, address := range client.Options().Addrs {
		f.nodes[address] = nil
	}
	return f
}

func (f *fleet) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range f.nodes {
		if node != nil {
			node.Close()
		}
	}
}

// learn asks the cluster client for the options of its nodes, such as users and certificates.
func (f *fleet) learn(ctx context.Context) error {
	f.mu.Lock()
	isKnown := f.template != nil
	f.mu.Unlock()
	if isKnown {
		return nil
	}
	return f.client.ForEachShard(ctx, func(_ context.Context, node *redis.Client) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.template = ownOptions(node.Options())
		return nil
	})
}

// at returns the client of a node. The caller holds mu.
func (f *fleet) at(address string) *redis.Client {
	node := f.nodes[address]
	if node == nil {
		options := *f.template
		options.Addr = address
		node = redis.NewClient(&options)
		f.nodes[address] = node
	}
	return node
}

// partition returns the partition of a slot. The caller holds mu.
func (f *fleet) partition(slot int) *partition {
	for i := range f.partitions {
		if p := &f.partitions[i]; p.first <= slot && slot <= p.last {
			return p
		}
	}
	return nil
}

func (f *fleet) trustedLeader(slot int) *redis.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil && !p.isDoubted {
		return f.at(p.address)
	}
	return nil
}

// findLeader asks the fleet who leads the partition of a slot.
func (f *fleet) findLeader(ctx context.Context, slot int) (*redis.Client, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if leader := f.trustedLeader(slot); leader != nil {
		return leader, nil // Another request has found the leader.
	}
	if err := f.learn(ctx); err != nil {
		return nil, err
	}
	if err := f.readIfOld(ctx, slot); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil {
		return f.at(p.address), nil
	}
	return nil, errNoLeader
}

// readIfOld reads the partitions, unless they were read a moment ago.
func (f *fleet) readIfOld(ctx context.Context, slot int) error {
	f.mu.Lock()
	isNew := now()-f.readAt < readPause
	f.mu.Unlock()
	if isNew {
		return nil
	}
	return f.read(ctx)
}

func (f *fleet) read(ctx context.Context) error {
	err := errNoLeader
	for _, address := range f.inOrderOfTrust() {
		f.mu.Lock()
		node := f.at(address)
		f.mu.Unlock()
		readAt := now()
		var slots interface{}
		if slots, err = node.Do(ctx, "CLUSTER", "SLOTS").Result(); err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.partitions, f.readAt = parsePartitions(slots, address), readAt
			return nil
		}
	}
	return err
}

// inOrderOfTrust returns first the leaders that have answered, and last those that have not.
func (f *fleet) inOrderOfTrust() (order []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var others, doubted []string
	isDoubted := map[string]bool{}
	for _, p := range f.partitions {
		isDoubted[p.address] = p.isDoubted
	}
	for address := range f.nodes {
		switch doubt, leads := isDoubted[address]; {
		case doubt:
			doubted = append(doubted, address)
		case leads:
			order = append(order, address)
		default:
			others = append(others, address)
		}
	}
	return append(append(order, others...), doubted...)
}

// parsePartitions reads the reply to CLUSTER SLOTS, which lists the leader of each range first. A
// node without an address is the one that was asked.
func parsePartitions(reply interface{}, asked string) (found []partition) {
	ranges, _ := reply.([]interface{})
	for _, it := range ranges {
		words, _ := it.([]interface{})
		if len(words) < 3 {
			continue
		}
		first, _ := words[0].(int64)
		last, _ := words[1].(int64)
		leader, _ := words[2].([]interface{})
		if len(leader) < 2 {
			continue
		}
		host, _ := leader[0].(string)
		port, _ := leader[1].(int64)
		if host == "" {
			host, _, _ = net.SplitHostPort(asked)
		}
		address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		found = append(found, partition{int(first), int(last), address, false})
	}
	return found
}

func (f *fleet) doubt(slot int, leader *redis.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil && f.nodes[p.address] == leader {
		p.isDoubted = true
	}
}

// move takes note of the address in a redirection.
func (f *fleet) move(slot int, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil {
		p.address, p.isDoubted = address, false
	}
}

// fleetRoute leads to the leader of the partition of a key.
type fleetRoute struct {
	fleet   *fleet
	key     string
	keySlot int
}

func (r *fleetRoute) slot() int { return r.keySlot }

func (r *fleetRoute) node(ctx context.Context) (*redis.Client, error) {
	if leader := r.fleet.trustedLeader(r.keySlot); leader != nil {
		return leader, nil
	}
	return r.fleet.findLeader(ctx, r.keySlot)
}

func (r *fleetRoute) failed(node *redis.Client, err error) (bool, error) {
	if isMoved(err) {
		text := err.Error()
		r.fleet.move(r.keySlot, text[strings.LastIndexByte(text, ' ')+1:])
		return true, fmt.Errorf("%w: %s", errMoves, text)
	}
	if isTemporary(err) {
		r.fleet.doubt(r.keySlot, node)
	}
	return false, err
}

func (r *fleetRoute) channelName(id string) string { return nameInSlot(id, r.key) }
