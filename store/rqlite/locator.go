package rqlite

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultPort is the port of a node that the locator gives none for.
const DefaultPort = "4001"

// Address is where a cluster is and how it is spoken to.
type Address struct {
	Nodes    []string // host:port, in the order given
	TLS      bool
	Insecure bool // the certificate is not checked
	User     string
	Password string
	HasUser  bool
	// HasPassword tells an empty password from none: one may come from elsewhere.
	HasPassword bool
	Timeout     time.Duration // of one call; 0 is the default
	Prefix      *string
}

// ParseAddress reads a locator: rqlite://user:password@host:port,host:port/ with the
// options tls=true, insecure=true, timeout=10s and prefix=NAME. A node without a port
// has [DefaultPort]. No error repeats the credentials.
func ParseAddress(locator string) (Address, error) {
	rest, ok := cutScheme(locator)
	if !ok {
		return Address{}, fmt.Errorf("an rqlite locator begins with rqlite://")
	}
	var a Address
	rest, options, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if strings.Contains(authority[:at], ",") {
			return Address{}, fmt.Errorf("user and password stand once, before the first node; a comma that belongs to them is written %%2C")
		}
		user, password, given := strings.Cut(authority[:at], ":")
		var errs [2]error
		a.User, errs[0] = url.PathUnescape(user)
		a.Password, errs[1] = url.PathUnescape(password)
		if errs != [2]error{} {
			return Address{}, fmt.Errorf("the user or the password holds a %% that is no escape; one that belongs to it is written %%25")
		}
		a.HasUser, a.HasPassword, authority = true, given, authority[at+1:]
	}
	if strings.Trim(path, "/") != "" {
		return Address{}, fmt.Errorf("an rqlite node has one database, so the locator ends with the nodes")
	}
	for _, node := range strings.Split(authority, ",") {
		host, err := nodeOf(strings.TrimSpace(node))
		if err != nil {
			return Address{}, err
		}
		a.Nodes = append(a.Nodes, host)
	}
	return a, a.options(options)
}

func cutScheme(locator string) (rest string, ok bool) {
	const scheme = "rqlite://"
	if len(locator) < len(scheme) || !strings.EqualFold(locator[:len(scheme)], scheme) {
		return "", false
	}
	return locator[len(scheme):], true
}

func nodeOf(node string) (string, error) {
	if node == "" {
		return "", fmt.Errorf("a node has no name; write rqlite://HOST:PORT, more nodes behind commas")
	}
	host, port, err := net.SplitHostPort(node)
	if err != nil {
		host, port = strings.Trim(node, "[]"), DefaultPort
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", fmt.Errorf("%q is no HOST:PORT", node)
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " /@#%") {
		return "", fmt.Errorf("%q is no HOST:PORT", node)
	}
	return net.JoinHostPort(host, port), nil
}

func (a *Address) options(text string) error {
	values, err := url.ParseQuery(text)
	if err != nil {
		return fmt.Errorf("the options behind the ? cannot be read")
	}
	for name, all := range values {
		value := all[len(all)-1]
		switch name {
		case "tls":
			a.TLS, err = strconv.ParseBool(value)
		case "insecure":
			a.Insecure, err = strconv.ParseBool(value)
		case "timeout":
			if a.Timeout, err = time.ParseDuration(value); err == nil && a.Timeout <= 0 {
				err = fmt.Errorf("not positive")
			}
		case "prefix":
			a.Prefix = &value
		default:
			return fmt.Errorf("there is no option %q; there are tls, insecure, timeout and prefix", name)
		}
		if err != nil {
			return fmt.Errorf("the option %s cannot be %q", name, value)
		}
	}
	return nil
}

// String is the locator without credentials.
func (a Address) String() string { return "rqlite://" + strings.Join(a.Nodes, ",") }
