// Takes locks from the leader, which it finds through Sentinel. Prints the node of each lock, once
// for each change.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"gopkg.in/redis.v5"
)

func main() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: strings.Split(os.Getenv("SENTINELS"), ",")})
	go func() {
		bufio.NewReader(os.Stdin).ReadString(0)
		os.Exit(0)
	}()
	node := regexp.MustCompile(`fleet_node:(\S+)`)
	last := ""
	for {
		lock := redis.NewCmd("LOCK", "order:42", "go-redis", "PX", 1000)
		if client.Process(lock) == nil || lock.Err() == redis.Nil {
			if found := node.FindStringSubmatch(client.Info("cluster").Val()); found != nil &&
				found[1] != last {
				last = found[1]
				fmt.Println(last)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
