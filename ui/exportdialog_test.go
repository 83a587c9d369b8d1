package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"
)

// exportTo fills in the form and confirms it.
func (d *driver) exportTo(format, scope, file string) *driver {
	d.t.Helper()
	d.press("e").advance(grace).asks("Export")
	d.press("ctrl+u").typed(format).press("enter", "ctrl+u").typed(scope).press("enter", "ctrl+u").typed(file).press("enter").settled()
	for d.m.dialog != nil && d.m.dialog.unread() > 0 {
		d.press("pgdown")
	}
	return d
}

func TestATreeIsExported(t *testing.T) {
	dir := t.TempDir()
	for scope, want := range map[string]string{"whole": "7 nodes", "below": "4 nodes", "path": "4 nodes", "shown": "7 nodes"} {
		file := filepath.Join(dir, scope+".json")
		d := open(t, forked(t), 120, 40).press("2", "j", "j", "j", "m").exportTo("json", scope, file).press("y")
		d.says(want + " as json in")
		text, err := os.ReadFile(file)
		must(t, err)
		if !strings.Contains(string(text), `"n3"`) || strings.Contains(string(text), `"n5"`) == (scope == "path") {
			t.Errorf("%s: %s", scope, text)
		}
	}
	d := open(t, forked(t), 120, 40).press("2", "/").typed("make").press("enter").exportTo("dot", "shown", filepath.Join(dir, "x.dot")).shows("without their data").press("y").says("3 nodes as dot")
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != 5 {
		t.Errorf("%d files are in the folder", len(left))
	}
	d.asksNothing()
}

func TestAnExportReplacesAFileOnlyWhereThatWasSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.json")
	d := open(t, forked(t), 120, 40).press("2").exportTo("json", "whole", file)
	must(t, os.WriteFile(file, []byte("mine"), 0o600)) // meanwhile
	d.press("y").asksNothing().says("came to be there meanwhile")
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	d.exportTo("json", "whole", file).shows("replaces", "already, and is replaced").press("y").says("7 nodes as json")
	d.exportTo("json", "all", file).shows("the scope is one of whole, below, path, shown").press("esc")
	d.exportTo("bmp", "whole", file).shows("bmp").press("esc")
	d.exportTo("json", "whole", filepath.Join(file, "no", "such")).press("y").asks("Export").press("esc")
}

func TestAnExecutionIsExported(t *testing.T) {
	dir := t.TempDir()
	d := open(t, seeded(t), 120, 40).press("l").exportTo("mermaid", "states", filepath.Join(dir, "x.mmd")).shows("the transitions").press("y").says("executions as mermaid")
	d.exportTo("json", "whole", filepath.Join(dir, "x.json")).shows("with their contexts and traces").press("y").says("3 executions as json")
	d.exportTo("svg", "states", filepath.Join(dir, "x.svg")).shows("states are drawn by mermaid and dot")
}

func TestFileNamesOfIds(t *testing.T) {
	for id, want := range map[string]string{
		"example": "example", "order-1:Fulfilment.Billing:0": "order-1_Fulfilment.Billing_0", "../../etc/passwd": "_.._etc_passwd", "...": "export", "\x1b[31m é": "__31m__", "": "export",
		strings.Repeat("x", 100): strings.Repeat("x", 60),
	} {
		if got := fileStem(id); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

func TestExportScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 12}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			golden.RequireEqual(t, open(t, forked(t), size[0], size[1]).press("2", "j", "e").advance(time.Second).text())
		})
	}
}

// An export reads: the command for it arms no writing, which a foreign file would
// need and a session file of another program refuses.
func TestTheCommandOfAnExportOnlyReads(t *testing.T) {
	d := open(t, forked(t), 160, 40)
	d.m.info.Ours, d.m.info.Backend, d.m.info.Path, d.m.info.Locator = false, "sqlite", "/srv/x.db", "/srv/x.db"
	d.press("2", "e").advance(grace).asks("Export").shows("treering -s /srv/x.db export --format json").press("esc")
	if c := d.m.command("append", nil, "x"); c != "treering -s /srv/x.db --rw append x" {
		t.Errorf("a command that writes is %s", c)
	}
}

// What stands in a field as the usual choice is replaced by what is typed, and edited
// once the cursor was moved.
func TestAnOfferedTextIsReplaced(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("2", "e").asks("Export").settled().shows("›format   json")
	d.typed("mark").shows("›format   mark").press("tab", "enter").typed("sho").press("tab").shows(" format   markdown", "›scope    shown")
	d.press("esc").press("j", "a").asks("Append").settled().typed("{}").press("tab").typed("note").shows("›kind     note")
	d.press("left").typed("s").shows("›kind     notse")
}
