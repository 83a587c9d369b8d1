package locate

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"

	"treering/store"
)

// LocatorError says why a locator leads nowhere. It matches
// [store.ErrStoreNotFound], or [store.ErrNotBuilt] where the kind of store is
// known but not opened by this version, [store.ErrNotAStore] where a file is of
// another program's kind, [store.ErrNotFound] where the store has no such prefix.
type LocatorError struct {
	Locator string // as given, credentials taken out
	Reason  string
	Err     error
}

func (e *LocatorError) Error() string {
	if e.Locator == "" {
		return e.Reason
	}
	return fmt.Sprintf("%q: %s", e.Locator, e.Reason)
}

// Unwrap returns Err.
func (e *LocatorError) Unwrap() error { return e.Err }

// target is what a locator names.
type target struct {
	memory bool
	path   string // of a file
	server string // the kind of server in the words of people, "" for none
	url    string // of the server, with its credentials: never shown
	open   func(ctx context.Context, t target, o Options) (*Opened, error)
	shown  string // the locator, credentials taken out
}

// scheme matches what may be the scheme of a URL. One letter is a drive.
var scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)

// serverOf fills in what opens the URLs of a scheme; server stays empty where no
// kind of server has it.
func (t target) serverOf(scheme, locator string) target {
	switch scheme {
	case "postgres", "postgresql":
		t.server, t.open = "PostgreSQL", openPostgres
	case "redis", "rediss":
		t.server, t.open = "Redis", openRedis
	case "rqlite":
		t.server, t.open = "rqlite", openRqlite
	default:
		return t
	}
	t.url = locator
	return t
}

// parse decides what a locator names. It looks at the file system, because a
// file that exists wins over every scheme.
func parse(locator string) (target, error) {
	if locator == "" {
		return target{}, &LocatorError{Reason: "the locator is empty", Err: store.ErrStoreNotFound}
	}
	if strings.IndexByte(locator, 0) >= 0 {
		return target{}, &LocatorError{Redact(locator), "no path holds a NUL", store.ErrStoreNotFound}
	}
	if _, err := os.Stat(locator); err == nil {
		return target{path: locator, shown: locator}, nil
	}
	m := scheme.FindStringSubmatch(locator)
	shown := Redact(locator)
	if m == nil {
		return target{path: locator, shown: shown}, nil
	}
	rest := locator[len(m[0]):]
	switch name := strings.ToLower(m[1]); name {
	case "memory":
		if strings.Trim(rest, "/") != "" {
			return target{}, &LocatorError{shown, "memory: is a store of its own and takes no name", store.ErrStoreNotFound}
		}
		return target{memory: true, shown: "memory:"}, nil
	case "file", "sqlite":
		path, err := urlPath(name, rest)
		if err != nil {
			return target{}, &LocatorError{shown, err.Error(), store.ErrStoreNotFound}
		}
		return target{path: path, shown: shown}, nil
	default:
		if t := (target{shown: shown}).serverOf(name, locator); t.server != "" && strings.HasPrefix(rest, "//") {
			return t, nil
		}
		if strings.HasPrefix(rest, "//") {
			return target{}, &LocatorError{shown, "no such file, and no kind of store has that scheme", store.ErrStoreNotFound}
		}
		// A colon is a character like any other.
		return target{path: locator, shown: shown}, nil
	}
}

// urlPath reads the path of a file: or sqlite: URL: absolute after an empty
// authority, relative where there is none.
func urlPath(scheme, rest string) (string, error) {
	if at := strings.IndexAny(rest, "?#"); at >= 0 {
		return "", fmt.Errorf("a %s: URL takes no options here; a %q that belongs to the path is written %%%02X", scheme, rest[at:at+1], rest[at])
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, found := strings.Cut(after, "/")
		if !found || host != "" && !strings.EqualFold(host, "localhost") {
			return "", fmt.Errorf("it names a host; write %s:///absolute/path or %s:relative/path", scheme, scheme)
		}
		rest = "/" + path
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", fmt.Errorf("%w; a %% that belongs to the path is written %%25", err)
	}
	switch {
	case path == "":
		return "", fmt.Errorf("a %s: URL needs a path", scheme)
	case strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("no path holds a NUL")
	}
	if runtime.GOOS == "windows" {
		path = windowsPath(path)
	}
	return path, nil
}

// windowsPath turns /C:/dir, as a URL has it, into C:/dir.
func windowsPath(path string) string {
	if len(path) >= 3 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}
