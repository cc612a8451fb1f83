// Drives go-redis's ClusterClient, as player.md describes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

type request struct {
	Call        []interface{}
	Pipeline    [][]interface{}
	Transaction [][]interface{}
}

var background = context.Background()

type commands interface {
	Do(context.Context, ...interface{}) *redis.Cmd
}

// send runs the commands, or collects them in a pipeline.
func send(target commands, requests [][]interface{}) []*redis.Cmd {
	var sent []*redis.Cmd
	for _, words := range requests {
		sent = append(sent, target.Do(background, words...))
	}
	return sent
}

func repliesOf(sent []*redis.Cmd) ([]interface{}, error) {
	replies := []interface{}{}
	for _, command := range sent {
		if command.Err() != nil && command.Err() != redis.Nil {
			return nil, command.Err()
		}
		replies = append(replies, command.Val())
	}
	return replies, nil
}

func answer(client *redis.ClusterClient, asked request) (interface{}, error) {
	if asked.Call != nil {
		replies, err := repliesOf(send(client, [][]interface{}{asked.Call}))
		if err != nil {
			return nil, err
		}
		return replies[0], nil
	}
	pipeline, requests := client.Pipeline(), asked.Pipeline
	if asked.Transaction != nil {
		pipeline, requests = client.TxPipeline(), asked.Transaction
	}
	sent := send(pipeline, requests)
	if _, err := pipeline.Exec(background); err != nil && err != redis.Nil {
		return nil, err
	}
	return repliesOf(sent)
}

func main() {
	client := redis.NewClusterClient(
		&redis.ClusterOptions{Addrs: strings.Split(os.Getenv("NODES"), ","), Protocol: 2})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked request
		json.Unmarshal(lines.Bytes(), &asked)
		result := map[string]interface{}{}
		if reply, err := answer(client, asked); err != nil {
			result["error"] = err.Error()
		} else {
			result["reply"] = reply
		}
		text, _ := json.Marshal(result)
		fmt.Println(string(text))
	}
}
