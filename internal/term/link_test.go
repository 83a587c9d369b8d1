package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestFileLinks(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/shop.db":           "file:///srv/shop.db",
		"/srv/a b/ü\x1b]0;x\x07": "file:///srv/a%20b/%C3%BC%1B%5D0%3Bx%07",
		"shop.db":                "",
		"":                       "",
		"memory:":                "",
	} {
		got := FileLink(path).Linked("x")
		if want == "" && got != "x" || want != "" && got != "\x1b]8;;"+want+"\x07x\x1b]8;;\x07" {
			t.Errorf("%q: %q, want a link to %q", path, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := FileLink("/" + hostile().Draw(t, "path")).Linked("shown")
		if ansi.Strip(s) != "shown" || strings.Count(s, "\x1b") != 2 {
			t.Fatalf("%q", s)
		}
	})
}

func TestKnowsLinks(t *testing.T) {
	for env, want := range map[string]bool{"TERM=xterm": true, "TERM=linux": false, "TERM=vt100": false, "TERM=dumb": false, "": false, "TERM=screen-256color NO_COLOR=1": true} {
		if got := KnowsLinks(strings.Fields(env)); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}
