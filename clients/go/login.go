package fairlock

import (
	"crypto/tls"
	"net"

	"gopkg.in/redis.v5"
)

// AsUser returns options whose connections log in as a user with a name. go-redis 5 itself can only
// send the password of the default user.
func AsUser(options *redis.Options, user, password string) *redis.Options {
	as := *options
	as.Password = ""
	as.Dialer = func() (net.Conn, error) {
		connection, err := dial(options)
		if err != nil {
			return nil, err
		}
		if err := logIn(connection, options, user, password); err != nil {
			connection.Close()
			return nil, err
		}
		return connection, nil
	}
	return &as
}

func dial(options *redis.Options) (net.Conn, error) {
	if options.Dialer != nil {
		return options.Dialer()
	}
	network := options.Network
	if network == "" {
		network = "tcp"
	}
	dialer := &net.Dialer{Timeout: options.DialTimeout}
	if options.TLSConfig != nil {
		return tls.DialWithDialer(dialer, network, options.Addr, options.TLSConfig)
	}
	return dialer.Dial(network, options.Addr)
}

// logIn lends the connection to another client.
func logIn(connection net.Conn, options *redis.Options, user, password string) error {
	client := redis.NewClient(&redis.Options{
		Dialer:       func() (net.Conn, error) { return lent{connection}, nil },
		ReadTimeout:  options.ReadTimeout,
		WriteTimeout: options.WriteTimeout, PoolSize: 1, IdleCheckFrequency: -1})
	defer client.Close()
	return client.Process(redis.NewCmd("AUTH", user, password))
}

// lent is not closed by its borrower.
type lent struct{ net.Conn }

func (lent) Close() error { return nil }
