package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func (w *world) configure(text string) string {
	w.t.Helper()
	path := filepath.Join(w.home, ".config", "treering", "config.toml")
	must(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(w.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestConfigSaysWhatIsInForce(t *testing.T) {
	w := newWorld(t)
	out := w.ok("config")
	for _, says := range []string{"config.toml (not there)", "state.json (not there)", "theme           auto", "mouse           true"} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
	path := w.configure("theme = \"drak\"\nmouse = false\nzone = \"utc\"\n[keys]\nzoom = [\"x\", \"ctrl+b\"]\nzomm = [\"y\"]\n[views]\nstuck = \"status:failed\"\n")
	out = w.ok("config")
	for _, says := range []string{path, "mouse           false", "zone            UTC", "keys.zoom       x, ctrl+b", "views.stuck     status:failed",
		path + ":1:1: theme: there is no theme \"drak\"", path + ":6:1: keys.zomm: there is no intent \"zomm\"; is it \"zoom\"?", ":5:1: keys.zoom: zoom: ctrl+b is tmux's prefix"} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
	out = w.ok("config", "--json")
	for _, says := range []string{`"mouse":false`, `"keys":{"zomm":["y"],"zoom":["x","ctrl+b"]}`, `"views":{"stuck":"status:failed"}`, `"line":6,"column":1,"key":"keys.zomm"`} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
	if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "theme = \"drak\"") {
		t.Errorf("the file was written: %q %v", text, err)
	}
}

func TestKeysAreListedAsTheyAreInForce(t *testing.T) {
	w := newWorld(t)
	path := w.configure("[keys]\nzoom = [\"U\", \"g x\"]\nfire = []\n")
	w.says = "treering: " + path + `:2:1: keys.zoom: zoom on "g x" and first on "g" exclude each other; zoom keeps its key everywhere` + "\n"
	r := w.run("keys")
	for line := range strings.Lines(r.out) {
		f := strings.Fields(line)
		if f[0] == "zoom" && !strings.HasPrefix(strings.Join(f, " "), "zoom U, g x everywhere") || f[0] == "fire" && f[1] != "-" {
			t.Errorf("%q", line)
		}
	}
	w.says = ""
	out := w.run("keys", "--json").out
	for _, says := range []string{`{"intent":"zoom","keys":["U","g x"],"usual":["z"],"panes":null,"what":`, `{"intent":"fire","keys":[],"usual":["f"],"panes":["queues"],`, `{"problem":{"path":`} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
}

func TestTheManPageHasTheKeys(t *testing.T) {
	page := newWorld(t).ok("man")
	for _, says := range []string{".SH KEYS", `\fBz\fP (zoom)`, `\fBctrl+z, Z s\fP (suspend\-program)`, ".SH CONFIGURATION"} {
		if !strings.Contains(page, says) {
			t.Errorf("the man page does not say %q", says)
		}
	}
}
