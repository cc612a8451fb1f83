package fairlock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// examples returns the examples of the README.
func examples(t *testing.T) (found []string) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1) {
		found = append(found, string(match[1]))
	}
	return found
}

const exampleHeader = `
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

// Not every example uses all of them.
var _ = []interface{}{tls.Config{}, x509.Certificate{}, errors.New, fmt.Sprint, os.ReadFile,
	time.Second, fairlock.Version}

func deploy(context.Context) error { fmt.Println("deployed"); return nil }

func write(context.Context, int, int64) error { fmt.Println("written"); return nil }

func main() {
	ctx, end := context.WithTimeout(context.Background(), 20*time.Second)
	defer end()
	for _, example := range all {
		client := redis.NewClient(&redis.Options{Addr: os.Args[1]})
		if err := example(ctx, client); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}
`

func TestExamplesOfTheReadme(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	certificate, key := writeCertificate(t)
	port := fmt.Sprint(freePort(t))
	b := benchOn(t, newEphemeralServer(t, "--tls-port", port, "--tls-cert-file", certificate,
		"--tls-key-file", key, "--acl-file", writeFile(t, "users.acl",
			"user default on nopass ~* +@all\nuser worker on >secret ~* +@all\n")))
	folder := t.TempDir()
	source, built := filepath.Join(folder, "main.go"), filepath.Join(folder, "examples")
	program := exampleHeader + "\nvar all = []func(context.Context, *redis.Client) error{\n"
	for _, example := range examples(t)[1:] {
		if regexp.MustCompile("FailoverClient|ClusterClient").MatchString(example) {
			continue // The tests with fleets run this example.
		}
		example = strings.NewReplacer("/etc/fairlock/ca.pem", certificate, "localhost:3248",
			"127.0.0.1:"+port, `ServerName: "localhost"`, `ServerName: "127.0.0.1"`).Replace(example)
		if !regexp.MustCompile(`(?m)^return `).MatchString(example) {
			example += "return nil\n"
		}
		program += "func(ctx context.Context, client *redis.Client) error {{\n" + example + "}},\n"
	}
	write(t, source, program+"}\n")
	goTool(t, ".", nil, "vet", source)
	goTool(t, ".", nil, "build", "-o", built, source)
	output := b.run(built, b.server.address())
	b.expect(strings.Count(output, "deployed\n") == 102, "%s", output)
	b.expect(strings.Count(output, "written\n") == 3, "%s", output)
	b.expect(strings.Contains(output, "not granted in 1"), "%s", output)
}
