package ui

import (
	"strings"
	"testing"
	"time"

	"treering/store/locate"
)

// CommandOf opens the dialog that the steps lead to, on a store that others find at
// the locator, confirms it, and returns the command that it showed and what came of
// it. A step is a key, "wait", "type:TEXT" or "jump:EXECUTION".
func CommandOf(t testing.TB, o *locate.Opened, locator string, steps ...string) (command, said string) {
	t.Helper()
	d := open(t, o, 120, 50)
	d.now = time.Now()
	d.m.info.Locator = locator
	for _, s := range steps {
		switch {
		case s == "wait":
			d.settled()
		case strings.HasPrefix(s, "type:"):
			d.paste(strings.TrimPrefix(s, "type:"))
		case strings.HasPrefix(s, "jump:"):
			d.jumpTo(strings.TrimPrefix(s, "jump:"))
		default:
			d.press(s)
		}
	}
	if d.m.dialog == nil {
		t.Fatalf("no dialog is open\n%s", d.text())
	}
	command = d.m.dialog.command()
	d.settled().press("y").asksNothing()
	return command, d.m.status.text.String()
}
