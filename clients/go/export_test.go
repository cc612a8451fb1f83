package fairlock

import (
	"testing"
	"time"

	"gopkg.in/redis.v5"
)

func NewChannelWithSilence(t *testing.T, client Client, silence time.Duration) *Channel {
	channel, err := newChannel(client, silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}

var (
	SlotOf     = slotOf
	NameInSlot = nameInSlot
	AddressOf  = addressOf
)

// Mislead makes the client believe that a node leads the partition of a key.
func Mislead(client *redis.ClusterClient, key, address string) {
	fleetOf(client).move(slotOf(key), address)
}

// Remembers returns whether something is stored about a client.
func Remembers(client *redis.ClusterClient) bool {
	fleets.mu.Lock()
	defer fleets.mu.Unlock()
	return fleets.byClient[client] != nil
}
