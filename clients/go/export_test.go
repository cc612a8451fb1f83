package fairlock

import (
	"testing"
	"time"
)

func NewChannelWithSilence(t *testing.T, client Client, silence time.Duration) *Channel {
	channel, err := newChannel(client, silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}
