// Holds a lock, and waits for it with another owner, while its test makes the fleet fail over.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func main() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: strings.Split(os.Getenv("SENTINELS"), ",")})
	if err := holdAndWait(context.Background(), client); err != nil {
		log.Fatal(err)
	}
}

func holdAndWait(ctx context.Context, client *redis.Client) error {
	hold, err := fairlock.Lock(ctx, client, "k", fairlock.WithLease(time.Minute))
	if err != nil {
		return err
	}
	before, err := hold.Token()
	if err != nil {
		return err
	}
	granted := make(chan error, 1)
	go func() {
		granted <- fairlock.Do(ctx, client, "k", []fairlock.Option{fairlock.WithOwner("waiter")},
			func(_ context.Context, next *fairlock.Hold) error {
				token, err := next.Token()
				if err == nil && token <= before {
					err = fmt.Errorf("%d was granted after %d", token, before)
				}
				return err
			})
	}()
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	// A renewal asks once, and the client may not have heard of the new leader yet.
	for err := hold.Renew(ctx, 0); err != nil; err = hold.Renew(ctx, 0) {
		if hold.Check() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Println("renewed")
	if err := hold.Unlock(ctx); err != nil {
		return err
	}
	if err := <-granted; err != nil {
		return err
	}
	fmt.Println("granted")
	return nil
}
