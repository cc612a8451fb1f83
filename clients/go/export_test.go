package fairlock

import (
	"testing"
	"time"

	"gopkg.in/redis.v5"
)

func NewChannelWithSilence(t *testing.T, client *redis.Client, silence time.Duration) *Channel {
	channel, err := newChannel(client, silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}
