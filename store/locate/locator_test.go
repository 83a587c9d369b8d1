package locate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/store"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name    string
		locator string
		memory  bool
		path    string
	}{
		{"a relative path", "shop.db", false, "shop.db"},
		{"an absolute path", "/srv/a b/shop.db", false, "/srv/a b/shop.db"},
		{"characters that mean something in a URL", "/srv/50%?#a&b=c+d.db", false, "/srv/50%?#a&b=c+d.db"},
		{"SQLite's own name for memory is a path", ":memory:", false, ":memory:"},
		{"a drive letter is no scheme", `C:\data\shop.db`, false, `C:\data\shop.db`},
		{"a drive letter with slashes", "c:/data/shop.db", false, "c:/data/shop.db"},
		{"a drive that looks like a URL", "c://data/shop.db", false, "c://data/shop.db"},
		{"a colon in a name", "notes:today.db", false, "notes:today.db"},
		{"a scheme without an authority is a name", "postgres:today.db", false, "postgres:today.db"},
		{"memory", "memory:", true, ""},
		{"memory in capitals, with slashes", "MEMORY://", true, ""},
		{"sqlite, relative", "sqlite:dir/shop.db", false, "dir/shop.db"},
		{"sqlite, absolute", "sqlite:///srv/shop.db", false, "/srv/shop.db"},
		{"sqlite, absolute without an authority", "sqlite:/srv/shop.db", false, "/srv/shop.db"},
		{"file, absolute", "file:///srv/shop.db", false, "/srv/shop.db"},
		{"file, this host", "file://localhost/srv/shop.db", false, "/srv/shop.db"},
		{"file, relative", "file:shop.db", false, "shop.db"},
		{"escapes", "file:///srv/a%20b%3Fc%23d%25e.db", false, "/srv/a b?c#d%e.db"},
		{"escapes of bytes that are not UTF-8", "file:///srv/%FF.db", false, "/srv/\xFF.db"},
		{"a plus is a plus", "sqlite:a+b.db", false, "a+b.db"},
		{"a scheme in capitals", "SQLite:shop.db", false, "shop.db"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(tt.locator)
			if err != nil {
				t.Fatal(err)
			}
			if got.memory != tt.memory || got.path != tt.path {
				t.Errorf("parse(%q) = memory %t, path %q; want %t, %q", tt.locator, got.memory, got.path, tt.memory, tt.path)
			}
		})
	}
}

func TestParseServers(t *testing.T) {
	for locator, want := range map[string]struct{ server, shown string }{
		"postgres://ana:secret@db.example/shop": {"PostgreSQL", "postgres://ana@db.example/shop"},
		"PostgreSQL://db/shop":                  {"PostgreSQL", "PostgreSQL://db/shop"},
		"redis://:secret@cache:6379/0":          {"Redis", "redis://cache:6379/0"},
		"rediss://cache":                        {"Redis", "rediss://cache"},
		"rqlite://ana:secret@one:4001,two:4001": {"rqlite", "rqlite://ana@one:4001,two:4001"},
	} {
		got, err := parse(locator)
		if err != nil || got.server != want.server || got.url != locator || got.shown != want.shown || got.open == nil || got.path != "" {
			t.Errorf("parse(%q) = %q, shown %q, %v; want %q, %q", locator, got.server, got.shown, err, want.server, want.shown)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, locator string
		is            error
		says          string
	}{
		{"nothing", "", store.ErrStoreNotFound, "the locator is empty"},
		{"a NUL", "a\x00b", store.ErrStoreNotFound, "NUL"},
		{"a NUL, escaped", "file:a%00b", store.ErrStoreNotFound, "NUL"},
		{"half an escape", "file:a%2", store.ErrStoreNotFound, `a % that belongs to the path is written %25`},
		{"options", "file:a.db?mode=ro", store.ErrStoreNotFound, `a "?" that belongs to the path is written %3F`},
		{"a fragment", "sqlite:a.db#x", store.ErrStoreNotFound, `a "#" that belongs to the path is written %23`},
		{"another host", "file://server/share/a.db", store.ErrStoreNotFound, "it names a host"},
		{"a relative path with an authority", "sqlite://a.db", store.ErrStoreNotFound, "write sqlite:///absolute/path or sqlite:relative/path"},
		{"no path", "sqlite:", store.ErrStoreNotFound, "needs a path"},
		{"memory with a name", "memory:a", store.ErrStoreNotFound, "takes no name"},
		{"a scheme nobody knows", "mysql://ana:secret@db/shop", store.ErrStoreNotFound, `"mysql://db/shop": no such file, and no kind of store has that scheme`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.locator)
			if !errors.Is(err, tt.is) {
				t.Fatalf("parse(%q) = %v, want %v", tt.locator, err, tt.is)
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error says %q, want %q in it", err, tt.says)
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error shows a credential or has several lines: %q", err)
			}
		})
	}
}

// An existing file wins over every scheme, whatever its name looks like.
func TestParseExistingFileWins(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("postgres:/db", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory:", "file:a%20b.db", "sqlite:a.db", "redis:x", "postgres:/db/shop", "50%.db"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := parse(name)
		if err != nil || got.memory || got.path != name {
			t.Errorf("parse(%q) = %+v, %v; want the file", name, got, err)
		}
	}
	// The system takes two slashes for one.
	if got, err := parse("postgres://db/shop"); err != nil || got.path != "postgres://db/shop" {
		t.Errorf("parse of a file that looks like a URL = %+v, %v", got, err)
	}
}

func TestPlaces(t *testing.T) {
	home := []string{"HOME=/home/ana"}
	for _, tt := range []struct {
		name, goos string
		env        Environ
		variable   string
		file       string
		want       string // "" for an error
	}{
		{"data by default", "linux", home, "XDG_DATA_HOME", "treering.db", "/home/ana/.local/share/treering/treering.db"},
		{"data moved", "linux", append(home, "XDG_DATA_HOME=/data"), "XDG_DATA_HOME", "treering.db", "/data/treering/treering.db"},
		{"a relative one counts as not set", "linux", append(home, "XDG_DATA_HOME=data"), "XDG_DATA_HOME", "treering.db", "/home/ana/.local/share/treering/treering.db"},
		{"the last of two counts", "linux", append(home, "XDG_DATA_HOME=/a", "XDG_DATA_HOME=/b"), "XDG_DATA_HOME", "x", "/b/treering/x"},
		{"configuration", "linux", home, "XDG_CONFIG_HOME", "config.toml", "/home/ana/.config/treering/config.toml"},
		{"state", "linux", home, "XDG_STATE_HOME", "", "/home/ana/.local/state/treering"},
		{"no home", "linux", nil, "XDG_DATA_HOME", "x", ""},
		{"macOS", "darwin", home, "XDG_DATA_HOME", "treering.db", "/home/ana/Library/Application Support/treering/treering.db"},
		{"macOS, state", "darwin", home, "XDG_STATE_HOME", "", "/home/ana/Library/Application Support/treering/state"},
		{"macOS with XDG", "darwin", append(home, "XDG_DATA_HOME=/data"), "XDG_DATA_HOME", "treering.db", "/data/treering/treering.db"},
		{"Windows", "windows", Environ{`LOCALAPPDATA=/local`, `APPDATA=/roaming`}, "XDG_DATA_HOME", "treering.db", "/local/treering/treering.db"},
		{"Windows, configuration", "windows", Environ{`LOCALAPPDATA=/local`, `APPDATA=/roaming`}, "XDG_CONFIG_HOME", "config.toml", "/roaming/treering/config.toml"},
		{"Windows without its variables", "windows", home, "XDG_DATA_HOME", "treering.db", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := place(tt.env, tt.goos, tt.variable, tt.file)
			if (err != nil) != (tt.want == "") || filepath.ToSlash(got) != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
