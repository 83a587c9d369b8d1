package ui

import (
	"context"
	"image/color"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"treering/internal/term"
	"treering/store"
	"treering/ui/paint"
)

// What the two rules count differently is a mark until the terminal says that it
// counts by clusters, and shows as it is from then on: on rows that were drawn
// before, and in the detail.
func TestWholeCharactersOnceTheTerminalCountsThem(t *testing.T) {
	const family, heart = "👨\u200d👩\u200d👧", "❤\ufe0f"
	o := openMemory(t)
	_, err := o.Trees.CreateSession(context.Background(), "s "+heart+" हिन्दी", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s "+heart+" हिन्दी", "n", "", "run", "the "+family)
	d := open(t, o, 100, 30).press("2", "3", "2")
	d.shows("the 👨‿👩‿👧").hides(family, heart)
	for _, no := range []ansi.ModeSetting{ansi.ModeNotRecognized, ansi.ModePermanentlyReset} {
		d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: no})
		d.hides(family)
	}
	d.send(tea.ModeReportMsg{Mode: ansi.ModeSynchronizedOutput, Value: ansi.ModeReset})
	d.hides(family)
	d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	d.shows("the "+family, "s "+heart+" हिन्दी")
}

func TestTheThemeGoesByTheBackground(t *testing.T) {
	white, black := tea.BackgroundColorMsg{Color: color.White}, tea.BackgroundColorMsg{Color: color.Black}
	d := open(t, seeded(t), 100, 30)
	d.m.asks = true
	d.press("l", "5")
	dark := d.screen()
	d.send(black)
	if d.screen() != dark {
		t.Error("a dark background, as assumed, changes the screen")
	}
	d.m.refused("no")
	d.send(white)
	light := d.screen()
	if light == dark || term.Unstyled(strings.Split(light, "\n")[3]) != term.Unstyled(strings.Split(dark, "\n")[3]) {
		t.Errorf("after a white background:\n%s", light)
	}
	if d.m.status.style != d.m.theme.Warn {
		t.Errorf("the status line keeps the style %q", d.m.status.style)
	}
	// No style of the dark theme that the light one does not have is left.
	known := map[paint.Style]bool{}
	for _, s := range d.m.theme.Styles() {
		known[s] = true
	}
	for _, s := range paint.New(paint.Dark16, false).Styles() {
		if !known[s] && strings.Contains(light, string(s)) {
			t.Errorf("the style %q of the dark theme is left", s)
		}
	}
	d.send(black).m.unsay()
	if d.screen() != dark {
		t.Error("back to dark is not what it was")
	}
	d.m.asks = false
	d.send(white)
	if d.screen() != dark {
		t.Error("a theme that was chosen goes by the background")
	}
}

// ASCII means ASCII: of ours in every pane, box and field, and of the data, which
// is spelled.
func TestASCIIIsOnlyASCII(t *testing.T) {
	o := seeded(t)
	appendNode(t, o.Trees, "example", "nö", "n1", "rün", "tïtle 测试 👨\u200d👩")
	must(t, o.Executions.Save(context.Background(), &store.Execution{ID: "örder", DefinitionID: "shöp", Status: "RÜNNING", ActivePath: ptr("Zürich"), Context: `{"ä":"ö"}`}))
	d := openWith(t, o, config{ascii: true}, 100, 30).asFile()
	var all strings.Builder
	for _, keys := range []string{"2", "j", "j", "G", "3", "4", "1", "l", "G", "j", "5", "?", "G", "esc", "i", "esc", "6", "w", "l", "l", "1", "/", "ü", "enter", "esc", "h", "2", "a", "esc", "t", "esc", "1", "l", "s", "esc", "l"} {
		d.press(keys).advance(time.Second)
		all.WriteString(d.text())
		for i, line := range strings.Split(d.text(), "\n") {
			for _, r := range line {
				if r > 0x7e {
					t.Fatalf("after %s line %d holds %q: %s", keys, i, r, line)
				}
			}
		}
		if title := d.m.View().WindowTitle; strings.ContainsFunc(title, func(r rune) bool { return r > 0x7e }) {
			t.Fatalf("the title is %q", title)
		}
	}
	d.press("1", "esc", "/").typed("fü")
	d.shows(`f\u00FC`).press("esc")
	for _, spelled := range []string{`\u00F6rder`, `r\u00FCn`, `t\u00EFtle \u6D4B`, `sh\u00F6p`, `Z\u00FCrich`} {
		if !strings.Contains(all.String(), spelled) {
			t.Errorf("%s was on no screen", spelled)
		}
	}
}
