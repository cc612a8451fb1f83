package fairlock

import (
	"testing"
	"time"
)

func NewChannelWithSilence(t *testing.T, client Client, silence time.Duration) *Channel {
	channel, err := openChannel(client, silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}

var (
	SlotOf     = slotOf
	NameInSlot = nameInSlot
)

// Mislead makes the link of a client believe that a node leads the partition of a key.
func Mislead(t *testing.T, client Client, key, address string) {
	l, err := linkOf(client)
	if err != nil {
		t.Fatal(err)
	}
	defer l.leave()
	l.fleet.move(slotOf(key), address)
}

// HasLink returns whether this package has connections for a client.
func HasLink(client Client) bool {
	links.mu.Lock()
	defer links.mu.Unlock()
	return links.byOptions[optionsOf(client)] != nil
}

// CloseIfIdle does what is done when connections have not been used for a while.
func CloseIfIdle(t *testing.T, client Client) {
	l, err := linkOf(client)
	if err != nil {
		t.Fatal(err)
	}
	l.leave()
	l.closeIfIdle(0)
}
