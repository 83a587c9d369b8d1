package ui

import (
	"flag"
	"os"
	"strings"
	"testing"

	settings "treering/ui/config"
)

// docs/keys.md is the table. It is written anew with -update.
func TestTheDocumentOfKeysIsUpToDate(t *testing.T) {
	const path = "../docs/keys.md"
	want := keysDocument()
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		must(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	got, err := os.ReadFile(path)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s is not what the table of intents makes of it; go test ./ui -run Document -update writes it", path)
	}
}

func keysDocument() string {
	var b strings.Builder
	b.WriteString(`# Keys

This page is made from the explorer's own table, as are its footer, its help (` + "`?`" + `), its palette (` + "`:`" + `) and the man page.
` + "`treering keys`" + ` lists the keys that are in force.

The names in the first column are those that the configuration takes. It replaces the keys of an intent, takes chords of up to three
presses, and unbinds with an empty list:

` + "```toml" + `
[keys]
zoom = ["U", "ctrl+x", "Z u"]
fire = []
` + "```" + `

Two intents on one key of one pane, a key that there is not and a name that is none are said at the start, on the page about the store
(` + "`i`" + `) and by ` + "`treering keys`" + `; of two, the one that the configuration names keeps the key. ` + "`ctrl+c`" + ` always quits,
and the palette is never without a key: it runs what has none.

`)
	pane := ""
	for _, k := range sections() {
		if k.title != pane {
			pane = k.title
			b.WriteString("## " + pane + "\n\n| intent | keys | what it does |\n| --- | --- | --- |\n")
		}
		for _, r := range k.rows {
			text := r.Text
			if r.Write {
				text += " (writes)"
			}
			b.WriteString("| `" + r.ID + "` | `" + strings.Join(r.Keys, "` `") + "` | " + strings.ReplaceAll(text, "|", `\|`) + " |\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type keySection struct {
	title string
	rows  []KeyRow
}

// sections are the rows by where they apply, in the order of the table.
func sections() []keySection {
	var out []keySection
	for _, r := range KeyTable(settings.Config{}) {
		title := "Everywhere"
		switch len(r.Panes) {
		case 0:
		case 6:
			title = "Moving"
		default:
			title = "In the " + strings.Join(r.Panes, ", ")
		}
		at := -1
		for i := range out {
			if out[i].title == title {
				at = i
			}
		}
		if at < 0 {
			at = len(out)
			out = append(out, keySection{title: title})
		}
		out[at].rows = append(out[at].rows, r)
	}
	return out
}
