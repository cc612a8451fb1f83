package fairlock_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The fleet belongs to cluster_test.py, which reads commands from the file with this descriptor, and
// answers on standard input.
const (
	fleetNodes    = "FAIRLOCK_TEST_NODES"
	fleetCommands = "FAIRLOCK_TEST_COMMANDS"
)

var (
	commands = func() *os.File {
		descriptor, _ := strconv.Atoi(os.Getenv(fleetCommands))
		return os.NewFile(uintptr(descriptor), fleetCommands)
	}()
	answers = bufio.NewReader(os.Stdin)
)

const partitions = 2

// fleet is a fleet of two partitions with two nodes each.
type fleet struct {
	*testing.T
	nodes []*redis.Client // not those of the client under test
}

// newFleet is for tests that run one after the other, and leave the fleet whole.
func newFleet(t *testing.T) *fleet {
	if os.Getenv(fleetNodes) == "" {
		t.Skip("cluster_test.py runs it")
	}
	f := &fleet{T: t}
	for _, address := range f.addresses() {
		node := redis.NewClient(&redis.Options{Addr: address, ReadTimeout: time.Second, Protocol: 2,
			MaxRetries: -1})
		t.Cleanup(func() { node.Close() })
		f.nodes = append(f.nodes, node)
	}
	return f
}

func (f *fleet) addresses() []string { return strings.Split(os.Getenv(fleetNodes), ",") }

func (f *fleet) client(options redis.ClusterOptions) *redis.ClusterClient {
	if options.Addrs == nil {
		options.Addrs = f.addresses()
	}
	if options.ReadTimeout == 0 {
		options.ReadTimeout = 30 * time.Second
	}
	client := redis.NewClusterClient(&options)
	f.Cleanup(func() { client.Close() })
	return client
}

// command lets cluster_test.py do something with the leader of a key, or with all nodes.
func (f *fleet) command(words ...string) {
	f.Helper()
	fmt.Fprintln(commands, strings.Join(words, " "))
	if answer, err := answers.ReadString('\n'); err != nil || answer != "done\n" {
		f.Fatalf("%v: %q, %v", words, answer, err)
	}
}

// key returns a key of this partition.
func (f *fleet) key(partition int, name string) string {
	f.Helper()
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s:%d", name, i)
		slot, err := tell(f.nodes[0], "CLUSTER", "KEYSLOT", key)
		if err != nil {
			f.Fatal(err)
		}
		if int(slot.(int64))*partitions/16384 == partition {
			return key
		}
	}
}

// at returns the leader of a key, to be seen from outside; nil if there is none.
func (f *fleet) at(key string) *bench {
	for _, node := range f.nodes {
		if _, err := tell(node, "LOCKED", key); err == nil {
			return &bench{T: f.T, outside: node}
		}
	}
	return nil
}

func (f *fleet) await(key string) *bench {
	f.Helper()
	var leader *bench
	(&bench{T: f.T}).until("a leader of "+key, func() bool {
		leader = f.at(key)
		return leader != nil
	})
	return leader
}

// untilWaiting also waits while the fleet fails over.
func (f *fleet) untilWaiting(key, owners string) {
	f.Helper()
	(&bench{T: f.T}).until("waiting for "+key+": "+owners, func() bool {
		for _, node := range f.nodes {
			if reply, err := tell(node, "QUEUE", key); err == nil {
				return ownersOf(reply) == owners
			}
		}
		return false
	})
}

// redirections returns how many requests have been redirected.
func (f *fleet) redirections() (count int) {
	for _, node := range f.nodes {
		text, _ := tell(node, "INFO", "errorstats")
		if _, after, found := strings.Cut(fmt.Sprint(text), "errorstat_MOVED:count="); found {
			n := 0
			fmt.Sscanf(after, "%d", &n)
			count += n
		}
	}
	return count
}

func (b *bench) address() string { return b.outside.Options().Addr }

// subscriptions returns how many names of channels have subscribers at this node.
func (b *bench) subscriptions() int {
	return len(b.ask("PUBSUB", "CHANNELS", "fairlock:*").([]interface{}))
}
