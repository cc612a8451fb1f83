package fairlock

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// message is a message on a NOTIFY channel.
type message struct {
	// event is "granted", "timeout", "cancelled", "superseded" or "lost"; or "subscribed", which
	// the channel itself delivers when it has a connection again.
	event  string
	key    string
	owner  string
	token  int64
	reason string
}

func parseMessage(text string) (message, error) {
	var it struct {
		Event, Key, Owner, Reason string
		Token                     int64
		KeyBase64                 *string `json:"key_base64"`
		OwnerBase64               *string `json:"owner_base64"`
	}
	if err := json.Unmarshal([]byte(text), &it); err != nil {
		return message{}, fmt.Errorf("fairlock: message %.100q: %w", text, err)
	}
	key, err := exact(it.Key, it.KeyBase64)
	if err != nil {
		return message{}, err
	}
	owner, err := exact(it.Owner, it.OwnerBase64)
	return message{it.Event, key, owner, it.Token, it.Reason}, err
}

// exact prefers the form for bytes that are not text.
func exact(text string, encoded *string) (string, error) {
	if encoded == nil {
		return text, nil
	}
	bytes, err := base64.StdEncoding.DecodeString(*encoded)
	return string(bytes), err
}
