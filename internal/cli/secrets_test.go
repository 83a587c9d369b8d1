package cli

import (
	"strings"
	"testing"

	"treering/store/locate"
)

// Whatever is refused, and wherever the locator was given: its password is not told.
func TestPasswordsAreNotTold(t *testing.T) {
	for _, locator := range []string{
		"redis://ana:hunter2@127.0.0.1:1/1",
		"rediss://:hunter2@127.0.0.1:1",
		"rqlite://ana:hunter2@127.0.0.1:1,127.0.0.1:2",
		"postgres://ana:hun/ter2@127.0.0.1:1/shop?connect_timeout=1",
		"postgres://ana:%68unter2@127.0.0.1:port/shop",
		"postgres://127.0.0.1:1/shop?user=ana&password=hunter2&connect_timeout=1",
		"mysql://ana:hunter2@db/shop",
	} {
		for _, args := range [][]string{
			{"-s", locator, "sessions"},
			{"-s", locator, "--rw", "--create", "session", "create", "x"},
			{"-s" + locator, "executions"},
			{"--store=" + locator, "info", "--json"},
			{"-s", locator, "transport", "--json"},
			{"-s", locator, "demo"},
			{"demo", "--into", locator},
			{"import", locator, "--into", "memory:"},
			{"import", locator, "--into", locator, "--dry-run"},
			{locator},
			{locator, "sessions"},
			{"--plain", locator},
			{locator, "-s", locator},
			{"help", locator},
			{"export", "--into", locator},
			{"suspend", "x", "--" + locator},
		} {
			w := newWorld(t)
			r := w.plain(args...)
			if r.code == exitDone || r.err == "" {
				t.Errorf("%q succeeded: %s", args, r.out)
			}
			for _, secret := range []string{"hunter2", "hun/ter2", "%68unter2", "ter2"} {
				if strings.Contains(r.out+r.err, secret) {
					t.Errorf("%q tells the password: %s%s", args, r.out, r.err)
				}
			}
		}
	}
}

// A store that was left is gone back to by what is shown of it.
func TestKeyring(t *testing.T) {
	var k keyring
	k.given([]string{"-s", "postgres://ana:hunter2@db/shop", "--into=rqlite://ana:hunter2@one", "-sredis://:hunter2@cache", "shop.db"},
		locate.Environ{"TREERING_STORE=postgres://db/other?password=hunter2"})
	for shown, whole := range map[string]string{
		"postgres://ana@db/shop":           "postgres://ana:hunter2@db/shop",
		"rqlite://ana@one":                 "rqlite://ana:hunter2@one",
		"redis://cache":                    "redis://:hunter2@cache",
		"postgres://db/other?password=...": "postgres://db/other?password=hunter2",
		"shop.db":                          "shop.db",
	} {
		if got := k.whole(shown); got != whole {
			t.Errorf("%q leads to %q, want %q", shown, got, whole)
		}
		if got := k.hide("cannot open " + whole); got != "cannot open "+shown {
			t.Errorf("the error says %q", got)
		}
	}
}
