package fairlock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	fairlock "github.com/fairlock/fairlock/clients/go"
	"github.com/redis/go-redis/v9"
)

func writeFile(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeCertificate makes a self-signed certificate for this machine: its file and that of its key.
func writeCertificate(t *testing.T) (certificate, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	signed, err := x509.CreateCertificate(rand.Reader, is, is, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return writeFile(t, "certificate", inPEM("CERTIFICATE", signed)),
		writeFile(t, "key", inPEM("EC PRIVATE KEY", encoded))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	certificate, key := writeCertificate(t)
	port := freePort(t)
	b := benchOn(t, newEphemeralServer(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file",
		certificate, "--tls-key-file", key, "--tls-ca-file", certificate,
		"--tls-auth-clients", "required"))
	authority, _ := os.ReadFile(certificate)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	mine, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	over := func(config *tls.Config) *redis.Client {
		config.ServerName = "127.0.0.1"
		client := redis.NewClient(&redis.Options{Addr: fmt.Sprint("127.0.0.1:", port),
			TLSConfig: config})
		t.Cleanup(func() { client.Close() })
		return client
	}
	b.unlock(b.lock(over(&tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{mine}}), "k"))

	// A request that cannot succeed is not repeated.
	_, err = fairlock.Lock(background, over(&tls.Config{RootCAs: x509.NewCertPool()}), "k")
	b.expect(errors.As(err, new(x509.UnknownAuthorityError)), "%v", err)
	_, err = fairlock.Lock(background, over(&tls.Config{RootCAs: trusted}), "k")
	b.expect(err != nil && !errors.Is(err, fairlock.ErrDenied), "%v", err)
}
