// Takes and releases locks with go-redis, as worker.md describes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

var owner = os.Getenv("OWNER")

func newClient() *redis.Client {
	if os.Getenv("MODE") != "sentinel" {
		return redis.NewClient(&redis.Options{Addr: os.Getenv("NODE")})
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: strings.Split(os.Getenv("SENTINELS"), ",")})
}

// microseconds returns the clock that time.Now reads but does not reveal.
func microseconds() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano() / 1000
}

// ask repeats the request until it is answered.
func ask(client *redis.Client, words ...interface{}) interface{} {
	for {
		line := map[string]interface{}{"op": words[0], "key": words[1], "begun": microseconds()}
		command := client.Do(context.Background(), words...)
		line["ended"] = microseconds()
		isAnswered := command.Err() == nil || command.Err() == redis.Nil
		if isAnswered {
			line["reply"] = command.Val()
		} else {
			line["error"] = command.Err().Error()
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
		if isAnswered {
			return command.Val()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	client := newClient()
	isOver := make(chan bool)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(isOver)
	}()
	keys := strings.Split(os.Getenv("KEYS"), ",")
	heldKey := owner + ":held"
	held := ask(client, "LOCK", heldKey, owner, "PX", 600000)
	for turn := 0; ; turn++ {
		key := keys[turn%len(keys)]
		token := ask(client, "LOCK", key, owner, "PX", 30000, "WAIT", "200ms")
		if token != nil {
			time.Sleep(5 * time.Millisecond)
			ask(client, "CHECK", key, token)
			ask(client, "UNLOCK", key, owner)
		}
		ask(client, "RENEW", heldKey, owner, "PX", 600000, "TOKEN", held)
		select {
		case <-isOver:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
