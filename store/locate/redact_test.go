package locate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"treering/store"
)

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ locator, want string }{
		{"/srv/shop.db", "/srv/shop.db"},
		{"/srv/ana@home.db", "/srv/ana@home.db"},
		{"postgres://db/shop", "postgres://db/shop"},
		{"postgres://ana@db/shop", "postgres://ana@db/shop"},
		{"postgres://ana:secret@db/shop", "postgres://ana@db/shop"},
		{"POSTGRES://ana:secret@db/shop", "POSTGRES://ana@db/shop"},
		{"postgres://ana:se@cr/et@db/shop", "postgres://ana@db/shop"},
		{"postgres://ana:se:cr:et@db/shop", "postgres://ana@db/shop"},
		{"postgres://ana:secret@one:5432,two:5433/shop", "postgres://ana@one:5432,two:5433/shop"},
		{"postgres://:secret@db/shop", "postgres://db/shop"},
		{"postgres://an%20a:secret@db/shop", "postgres://db/shop"}, // no plain name: not to be told from a secret
		{"postgres:///shop?host=/run/pg&user=ana@home", "postgres:///shop?host=/run/pg&user=ana@home"},
		{"postgres:///shop?host=/run/pg&password=se@cret", "postgres:///shop?host=/run/pg&password=..."},
		{"postgres://db/shop?user=ana&password=secret&x=1", "postgres://db/shop?user=ana&password=...&x=1"},
		{"postgres://db/shop?p%61ssword=secret", "postgres://db/shop?p%61ssword=..."},
		{"postgres://db/shop?sslpassword=secret&passfile=/home/ana/.pgpass", "postgres://db/shop?sslpassword=...&passfile=/home/ana/.pgpass"},
		{"redis://:secret@cache", "redis://cache"},
		{"redis://secret@cache", "redis://cache"}, // a password in the place of the user
		{"rediss://ana:secret@cache/1", "rediss://cache/1"},
		{"rqlite://ana:secret@one,two", "rqlite://ana@one,two"},
		{"rqlite://ana:secret@one,ana:secret@two", "rqlite://ana@two"},
		{"mysql://ana:secret@db/shop", "mysql://db/shop"},
		{"host=db password=secret dbname=shop", "host=db password=... dbname=shop"},
		{"host=db password='se cret' dbname=shop", "host=db password=... dbname=shop"},
		{"PASSWORD = secret", "PASSWORD = ..."},
	} {
		if got := Redact(tt.locator); got != tt.want {
			t.Errorf("Redact(%q) = %q, want %q", tt.locator, got, tt.want)
		}
		if again := Redact(Redact(tt.locator)); again != tt.want {
			t.Errorf("Redact(%q) changes when it is done again, to %q", tt.locator, again)
		}
	}
}

func TestRedactIn(t *testing.T) {
	const locator = "postgres://ana:se\"cret@db/shop"
	for _, text := range []string{"cannot parse " + locator + ": no", fmt.Sprintf("%q: no", locator)} {
		if got := RedactIn(text, locator); strings.Contains(got, "cret") || !strings.Contains(got, "postgres://ana@db/shop") {
			t.Errorf("RedactIn(%q) = %q", text, got)
		}
	}
	err := withoutSecrets(fmt.Errorf("open %s: %w", locator, store.ErrBusy), locator)
	if got := err.Error(); strings.Contains(got, "cret") || !errors.Is(err, store.ErrBusy) {
		t.Errorf("the error says %q, and is busy: %t", got, errors.Is(err, store.ErrBusy))
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "cret") {
			t.Errorf("an error below says %q", e)
		}
	}
}

func TestMask(t *testing.T) {
	for typed, want := range map[string]string{
		"":                                "",
		"a/b:c@d.db":                      "a/b:c@d.db",
		"postgres://db:5432/shop":         "postgres://db:5432/shop",
		"postgres://[::1]:5432/shop":      "postgres://[::1]:5432/shop",
		"rqlite://one:4001,two:4001":      "rqlite://one:4001,two:4001",
		"postgres://me:":                  "postgres://me:",
		"postgres://me:s3":                "postgres://me:••",
		"postgres://me:pä@x/ss@db/shop":   "postgres://me:•••••••@db/shop",
		"redis://:geheim@cache:6379/1":    "redis://:••••••@cache:6379/1",
		"postgres://db/x?password=ab&a=b": "postgres://db/x?password=••&a=b",
		"host=db password=ab dbname=x":    "host=db password=•• dbname=x",
	} {
		if got := Mask(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
