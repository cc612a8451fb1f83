package fairlock

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/redis.v5"
)

// A leader that was lost is looked for at most this often, however many requests wait for it.
const readPause = 50 * time.Millisecond

// These errors are worth asking again.
var (
	errNoLeader = errors.New("fairlock: no node leads the partition of the key")
	errMoves    = errors.New("fairlock: the leader of the partition is changing")
)

// fleet knows which node of a cluster client leads which partition. go-redis 5 does not: it cannot
// read the reply to COMMAND, without which it sends each command to a random node.
type fleet struct {
	client *redis.ClusterClient

	reading sync.Mutex // held while the partitions are read; locked before mu

	mu         sync.Mutex
	partitions []partition
	readAt     duration
}

type partition struct {
	first, last int // slots
	address     string
	leader      *redis.Client // nil if the cluster client does not know the address yet
	isDoubted   bool
}

var fleets = struct {
	mu       sync.Mutex
	byClient map[*redis.ClusterClient]*fleet
}{byClient: map[*redis.ClusterClient]*fleet{}}

// fleetOf returns the fleet of a client, which it shares with all locks.
func fleetOf(client *redis.ClusterClient) *fleet {
	fleets.mu.Lock()
	defer fleets.mu.Unlock()
	if known := fleets.byClient[client]; known != nil {
		return known
	}
	for other, its := range fleets.byClient {
		if _, err := its.nodes(); err != nil {
			delete(fleets.byClient, other) // It has been closed.
		}
	}
	made := &fleet{client: client, readAt: -readPause}
	fleets.byClient[client] = made
	return made
}

// nodes returns the nodes that the cluster client knows, by address.
func (f *fleet) nodes() (map[string]*redis.Client, error) {
	var mu sync.Mutex
	found := map[string]*redis.Client{}
	err := f.client.ForEachNode(func(node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		found[addressOf(node)] = node
		return nil
	})
	return found, err
}

// addressOf returns the address, which only the text form of a client has.
func addressOf(node *redis.Client) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(node.String(), "Redis<"), " db:")
	return address
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
		return p.leader
	}
	return nil
}

// findLeader asks the fleet who leads the partition of a key.
func (f *fleet) findLeader(slot int, key string) (*redis.Client, error) {
	f.reading.Lock()
	defer f.reading.Unlock()
	if leader := f.trustedLeader(slot); leader != nil {
		return leader, nil // Another request has found it.
	}
	if err := f.readIfOld(slot); err != nil {
		return nil, err
	}
	leader, address := f.leader(slot)
	switch {
	case leader != nil:
		return leader, nil
	case address == "":
		return nil, errNoLeader
	}
	leader, err := f.introduce(key, address)
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil {
		p.leader, p.isDoubted = leader, leader == nil
	}
	return leader, err
}

// leader returns nil for a leader that the cluster client does not know yet.
func (f *fleet) leader(slot int) (leader *redis.Client, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil {
		return p.leader, p.address
	}
	return nil, ""
}

// readIfOld reads the partitions, unless their leaders are known or were read a moment ago.
func (f *fleet) readIfOld(slot int) error {
	f.mu.Lock()
	p := f.partition(slot)
	isNew := p != nil && !p.isDoubted || now()-f.readAt < readPause
	f.mu.Unlock()
	if isNew {
		return nil
	}
	return f.read()
}

func (f *fleet) read() error {
	nodes, err := f.nodes()
	if err != nil {
		return err
	}
	err = errNoLeader
	for _, node := range f.inOrderOfTrust(nodes) {
		readAt := now()
		slots := redis.NewCmd("CLUSTER", "SLOTS")
		if err = node.Process(slots); err == nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.partitions, f.readAt = parsePartitions(slots.Val(), nodes), readAt
			return nil
		}
	}
	return err
}

// inOrderOfTrust returns first the leaders that have answered, and last those that have not.
func (f *fleet) inOrderOfTrust(nodes map[string]*redis.Client) (order []*redis.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var others, doubted []*redis.Client
	isDoubted := map[*redis.Client]bool{}
	for _, p := range f.partitions {
		isDoubted[p.leader] = p.isDoubted
	}
	for _, node := range nodes {
		switch doubt, leads := isDoubted[node]; {
		case doubt:
			doubted = append(doubted, node)
		case leads:
			order = append(order, node)
		default:
			others = append(others, node)
		}
	}
	return append(append(order, others...), doubted...)
}

// parsePartitions reads the reply to CLUSTER SLOTS, which lists the leader of each range first.
func parsePartitions(reply interface{}, nodes map[string]*redis.Client) (found []partition) {
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
		address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		found = append(found, partition{int(first), int(last), address, nodes[address], false})
	}
	return found
}

// introduce makes a leader known to the cluster client, by a request that changes nothing.
func (f *fleet) introduce(key, address string) (*redis.Client, error) {
	nodes, err := f.nodes()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node.Process(redis.NewCmd("UNLOCK", key, makeOwner())) == nil {
			return node, nil // It has another name here, such as localhost.
		}
	}
	// go-redis follows the redirection.
	failure := f.client.Process(redis.NewCmd("UNLOCK", key, makeOwner()))
	if nodes, err = f.nodes(); nodes[address] != nil || err != nil {
		return nodes[address], err
	}
	return nil, fmt.Errorf("%w: %s: %v", errNoLeader, address, failure)
}

func (f *fleet) doubt(slot int, leader *redis.Client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil && p.leader == leader {
		p.isDoubted = true
	}
}

// move takes note of the address in a redirection.
func (f *fleet) move(slot int, address string) {
	nodes, _ := f.nodes()
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.partition(slot); p != nil {
		p.address, p.leader, p.isDoubted = address, nodes[address], false
	}
}

// fleetRoute leads to the leader of the partition of a key.
type fleetRoute struct {
	fleet   *fleet
	key     string
	keySlot int
}

func (r *fleetRoute) slot() int { return r.keySlot }

func (r *fleetRoute) node() (*redis.Client, error) {
	if leader := r.fleet.trustedLeader(r.keySlot); leader != nil {
		return leader, nil
	}
	return r.fleet.findLeader(r.keySlot, r.key)
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
