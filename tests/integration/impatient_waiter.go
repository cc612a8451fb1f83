// Waits for a lock through go-redis, with the library's own read time-out, and without its retries.
//
//	impatient_waiter PORT KEY OWNER
//
// Prints a line for each event: "timeout N", then "granted TOKEN" and "released".
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var background = context.Background()

// wait repeats the request until it is answered; after three seconds without a reply the library
// closes the connection, and uses another one for the next request.
func wait(client *redis.Client, key, owner string) (int64, error) {
	for timeouts := 1; ; timeouts++ {
		token, err := client.Do(background, "LOCK", key, owner, "WAIT", "60s").Int64()
		if failure, ok := err.(net.Error); !ok || !failure.Timeout() {
			return token, err
		}
		fmt.Println("timeout", timeouts)
	}
}

func main() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1], MaxRetries: -1})
	key, owner := os.Args[2], os.Args[3]
	token, err := wait(client, key, owner)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("granted", token)
	time.Sleep(200 * time.Millisecond)
	if err := client.Do(background, "UNLOCK", key, owner).Err(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("released")
}
