// Takes locks from the leader, which it finds through Sentinel. Prints the node of each lock, once
// for each change.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: strings.Split(os.Getenv("SENTINELS"), ","),
		SentinelPassword: os.Getenv("PASSWORD"), Password: os.Getenv("PASSWORD")})
	background := context.Background()
	go func() {
		bufio.NewReader(os.Stdin).ReadString(0)
		os.Exit(0)
	}()
	node := regexp.MustCompile(`fleet_node:(\S+)`)
	last := ""
	for {
		err := client.Do(background, "LOCK", "order:42", "go-redis", "PX", 1000).Err()
		if err == nil || err == redis.Nil {
			if found := node.FindStringSubmatch(client.Info(background, "cluster").Val()); found != nil &&
				found[1] != last {
				last = found[1]
				fmt.Println(last)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
