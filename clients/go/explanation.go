package fairlock

import (
	"fmt"
	"strings"
	"time"
)

// Holder is one of the owners that hold a key.
type Holder struct {
	Owner   string
	Token   int64
	Meta    string
	Label   string
	HeldFor time.Duration
	// TTL is the time until its lease ends; negative if the lease has no end.
	TTL time.Duration
	// Mode is "exclusive", "shared" or "semaphore".
	Mode string
}

// Explanation says why a lock was denied.
type Explanation struct {
	// Status is "denied", "timeout", or "queued" if WithKeep keeps a place in the queue.
	Status string
	// Reason is "held", "shared", "line", "reserved", "cooling", "full", "drained" or "starting".
	Reason string
	// TTL is the time until the lease that ends first is over; negative if there is none.
	TTL time.Duration
	// Position is the place in the queue; 1 is next, 0 means that there is no place.
	Position int64
	Waiters  int64
	// ETA is the estimated time until the lock is granted; negative if it is not known.
	ETA time.Duration
	// Holders are at most 16.
	Holders []Holder
	// Key is the first key that could not be obtained, if several were requested.
	Key string

	token *int64
}

// String describes it in one line.
func (e Explanation) String() string {
	var parts []string
	if e.Key != "" {
		parts = append(parts, fmt.Sprintf("%q is taken", e.Key))
	}
	if e.Reason != "" && (len(e.Holders) == 0 || e.Reason != "held") {
		parts = append(parts, e.Reason)
	}
	var holders []string
	for _, holder := range e.Holders {
		holders = append(holders, printable(holder.Owner)+" for "+rounded(holder.HeldFor))
	}
	if len(holders) > 0 {
		parts = append(parts, "held by "+strings.Join(holders, ", "))
	}
	if e.Position > 0 {
		parts = append(parts, fmt.Sprintf("position %d is kept", e.Position))
	}
	if e.Waiters > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", e.Waiters))
	}
	if e.ETA >= 0 {
		parts = append(parts, fmt.Sprintf("free in about %s", rounded(e.ETA)))
	}
	if len(parts) == 0 {
		return e.Status
	}
	return strings.Join(parts, "; ")
}

// fields is a map of a reply, which RESP 2 sends as a flat list.
type fields map[string]interface{}

func parseFields(reply interface{}) fields {
	found := fields{}
	if pairs, ok := reply.(map[interface{}]interface{}); ok {
		for name, value := range pairs {
			if name, ok := name.(string); ok {
				found[name] = value
			}
		}
		return found
	}
	list, _ := reply.([]interface{})
	for i := 0; i+1 < len(list); i += 2 {
		if name, ok := list[i].(string); ok {
			found[name] = list[i+1]
		}
	}
	return found
}

func (f fields) text(name string) string {
	text, _ := f[name].(string)
	return text
}

func (f fields) number(name string) int64 {
	number, _ := f[name].(int64)
	return number
}

// time is -1 if the field is nil.
func (f fields) time(name string) time.Duration {
	if number, ok := f[name].(int64); ok {
		return time.Duration(number) * time.Millisecond
	}
	return -1
}

func parseHolder(reply interface{}) Holder {
	f := parseFields(reply)
	return Holder{Owner: f.text("owner"), Token: f.number("token"), Meta: f.text("meta"),
		Label: f.text("label"), HeldFor: f.time("held_ms"), TTL: f.time("ttl_ms"),
		Mode: f.text("mode")}
}

// tokenOf returns the token in the reply to LOCK or MLOCK, with or without EXPLAIN.
func tokenOf(reply interface{}) *int64 {
	if token, ok := reply.(int64); ok {
		return &token
	}
	return parseExplanation(reply).token
}

// newerToken returns the token of this owner's hold in the reply to LOCKINFO, if it is greater than
// this one, or nil.
func newerToken(owner string, than int64, reply interface{}) *int64 {
	for _, holder := range parseExplanation(reply).Holders {
		if holder.Owner == owner && holder.Token > than {
			return &holder.Token
		}
	}
	return nil
}

// parseExplanation reads the reply to LOCK or MLOCK with EXPLAIN.
func parseExplanation(reply interface{}) Explanation {
	f := parseFields(reply)
	e := Explanation{Status: f.text("status"), Reason: f.text("reason"), TTL: f.time("ttl_ms"),
		Position: f.number("position"), Waiters: f.number("waiters"), ETA: f.time("eta_ms"),
		Key: f.text("key")}
	if token, ok := f["token"].(int64); ok {
		e.token = &token
	}
	holders, _ := f["holders"].([]interface{})
	for _, holder := range holders {
		e.Holders = append(e.Holders, parseHolder(holder))
	}
	return e
}
