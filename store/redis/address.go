package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"treering/store"
)

// DefaultPort is where a server listens of which the locator names no port.
const DefaultPort = "6379"

// DefaultTimeout is how long a connection, and an answer, is waited for.
const DefaultTimeout = 5 * time.Second

// PasswordVariable is the environment variable that the password is taken from where
// the locator has none, as redis-cli does.
const PasswordVariable = "REDISCLI_AUTH"

// address is a locator taken apart.
type address struct {
	network, addr      string // "tcp" host:port, "unix" path
	username, password string
	db                 int
	timeout            time.Duration
	tls                *tls.Config // nil: none
}

// AddressError is a locator that names no server. It matches [store.ErrStoreNotFound].
// Nothing of the locator is in it, since that may hold a password.
type AddressError struct {
	Reason string
}

func (e *AddressError) Error() string { return e.Reason }

// Unwrap returns [store.ErrStoreNotFound].
func (e *AddressError) Unwrap() error { return store.ErrStoreNotFound }

// parseAddress reads redis://[USER[:PASSWORD]@]HOST[:PORT][/DB][?OPTION=VALUE...], with
// rediss for TLS. Without a host the path is that of a Unix socket.
func parseAddress(locator string, getenv func(string) string) (address, error) {
	u, err := url.Parse(locator)
	if err != nil {
		// Its text quotes what it stumbled over, and that may be part of a password.
		return address{}, &AddressError{"it is no URL; write redis://[user:password@]host[:port][/db], and characters such as / ? # @ % in a password as %2F %3F %23 %40 %25"}
	}
	a := address{network: "tcp", timeout: DefaultTimeout}
	switch strings.ToLower(u.Scheme) {
	case "redis":
	case "rediss":
		a.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	default:
		return address{}, &AddressError{"its scheme is neither redis nor rediss"}
	}
	if u.Fragment != "" {
		return address{}, &AddressError{"a # that belongs to a password or a path is written %23"}
	}
	a.username = u.User.Username()
	a.password, _ = u.User.Password()
	if a.password == "" {
		a.password = getenv(PasswordVariable)
	}
	path := strings.Trim(u.Path, "/")
	_, isDB := databaseNumber(path)
	switch {
	case u.Hostname() == "" && path != "" && !isDB:
		a.network, a.addr = "unix", u.Path
		if a.tls != nil {
			return address{}, &AddressError{"there is no TLS on a Unix socket: write redis://"}
		}
	default:
		host, port := u.Hostname(), u.Port()
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = DefaultPort
		}
		a.addr = net.JoinHostPort(host, port)
		if a.db, isDB = databaseNumber(path); !isDB && path != "" {
			return address{}, &AddressError{"behind the host comes the number of a database, nothing else"}
		}
	}
	return a, a.options(u.Query())
}

func databaseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0
}

// options reads what stands behind the question mark.
func (a *address) options(values url.Values) error {
	for name, all := range values {
		value := all[len(all)-1]
		var err error
		switch name {
		case "db":
			var ok bool
			if a.db, ok = databaseNumber(value); !ok {
				err = errors.New("is the number of a database")
			}
		case "timeout":
			if a.timeout, err = time.ParseDuration(value); err != nil || a.timeout <= 0 {
				err = errors.New("is a duration such as 5s")
			}
		case "cacert", "insecure", "cert", "key":
			if a.tls == nil {
				err = errors.New("is for rediss://")
			}
		default:
			err = errors.New("is no option; there are db, timeout and, with rediss://, cacert, cert, key and insecure")
		}
		if err != nil {
			return &AddressError{fmt.Sprintf("%s %v", name, err)}
		}
	}
	if a.tls == nil {
		return nil
	}
	return a.certificates(values)
}

func (a *address) certificates(values url.Values) error {
	a.tls.InsecureSkipVerify = values.Has("insecure") && values.Get("insecure") != "0" && values.Get("insecure") != "false"
	if file := values.Get("cacert"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return &AddressError{"cacert: " + err.Error()}
		}
		a.tls.RootCAs = x509.NewCertPool()
		if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
			return &AddressError{fmt.Sprintf("cacert: there is no certificate in %q", file)}
		}
	}
	if cert, key := values.Get("cert"), values.Get("key"); cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return &AddressError{"cert and key: " + err.Error()}
		}
		a.tls.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// poolSize is how many connections there are at most. Requests beyond that wait for
// one; more would not make the server, which has one thread, any faster.
const poolSize = 32

// client connects to one server.
func (a address) client() *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Network: a.network, Addr: a.addr, DB: a.db, Username: a.username, Password: a.password, TLSConfig: a.tls,
		// RESP2 is what every version speaks, and servers that know no more are not asked.
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		// A write that is sent twice may be done twice: reads are retried by us.
		MaxRetries: -1, DialerRetries: 1,
		DialTimeout: a.timeout, ReadTimeout: a.timeout, WriteTimeout: a.timeout, PoolTimeout: a.timeout,
		PoolSize: poolSize, ConnMaxIdleTime: time.Minute, ContextTimeoutEnabled: true,
	})
}

// cluster connects to the cluster that a server is a node of.
func (a address) cluster() *goredis.ClusterClient {
	return goredis.NewClusterClient(&goredis.ClusterOptions{
		Addrs: []string{a.addr}, Username: a.username, Password: a.password, TLSConfig: a.tls,
		Protocol: 2, DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRedirects: 3, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: a.timeout, ReadTimeout: a.timeout, WriteTimeout: a.timeout, PoolTimeout: a.timeout,
		PoolSize: poolSize, ConnMaxIdleTime: time.Minute, ContextTimeoutEnabled: true,
	})
}

// rights is "1" for a user of whom rights may be taken away: scripts then ask for them.
func (a address) rights() string {
	if a.username == "" || a.username == "default" {
		return ""
	}
	return "1"
}

// shown is the address for people, without credentials.
func (a address) shown() string {
	if a.db != 0 {
		return fmt.Sprintf("%s/%d", a.addr, a.db)
	}
	return a.addr
}
