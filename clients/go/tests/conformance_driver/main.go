// The conformance driver uses the library as an application would: it reads and writes one JSON
// object per line, as clients/conformance describes.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

// Each waiting request has a connection of its own.
const connectionsMax = 2000

func main() {
	client, err := newClient()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	d := newDriver(client)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if r.Do == "exit" {
			break
		}
		d.begin(r)
	}
}

func newClient() (fairlock.Client, error) {
	seconds, err := strconv.ParseFloat(os.Getenv("FAIRLOCK_READ_TIMEOUT"), 64)
	if err != nil {
		seconds = 5
	}
	if sentinels := os.Getenv("FAIRLOCK_SENTINELS"); sentinels != "" {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "main",
			SentinelAddrs: strings.Split(sentinels, ","), ReadTimeout: duration(seconds),
			PoolSize: connectionsMax, PoolTimeout: time.Minute}), nil
	}
	location, err := url.Parse(os.Getenv("FAIRLOCK_URL"))
	if err != nil {
		return nil, err
	}
	options := &redis.UniversalOptions{Addrs: []string{location.Host},
		ReadTimeout: duration(seconds), PoolSize: connectionsMax, PoolTimeout: time.Minute}
	if location.Scheme == "rediss" {
		if options.TLSConfig, err = trusting(os.Getenv("FAIRLOCK_CA"), location); err != nil {
			return nil, err
		}
	}
	if location.User != nil {
		options.Username = location.User.Username()
		options.Password, _ = location.User.Password()
	}
	if nodes := os.Getenv("FAIRLOCK_CLUSTER"); nodes != "" {
		options.Addrs = strings.Split(nodes, ",")
		return redis.NewClusterClient(options.Cluster()), nil
	}
	return redis.NewClient(options.Simple()), nil
}

func trusting(path string, location *url.URL) (*tls.Config, error) {
	authority, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	return &tls.Config{RootCAs: trusted, ServerName: location.Hostname()}, nil
}

func duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}
