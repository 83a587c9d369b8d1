package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"treering/internal/term"
	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

// hostileStrings are the strings of hostile-text.jsonl, and some bytes that JSON
// cannot hold.
func hostileStrings(t testing.TB) []string {
	t.Helper()
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(keysOf(v)) {
				if k == "text" || k == "cwd" || k == "title" || k == "name" {
					walk(v[k])
				} else if _, plain := v[k].(string); !plain {
					walk(v[k])
				}
			}
		}
	}
	for line := range bytes.Lines(testfiles.Read(t, "hostile-text.jsonl")) {
		var v any
		must(t, json.Unmarshal(line, &v))
		walk(v)
	}
	if len(out) < 30 {
		t.Fatalf("only %d strings", len(out))
	}
	return append(out, "\x1b]0;OWNED\x07\x1b[2J\x1b[?1049l", "\u009b2J\u009d0;OWNED\u009c", "\u202ereversed\u2066", "👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 🏴\U000e0067\U000e007f", "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "हिन्दी ำ ﷺ ㅤ\u115f\u00ad\u034f", "x\ty\rz\vw\u2028v\u0085")
}

func keysOf(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// hostileStore has them as names, kinds, ids, data, statuses, paths, events, errors
// and names of the store itself.
func hostileStore(t testing.TB) *locate.Opened {
	t.Helper()
	o := openMemory(t)
	if seen, ok := o.Executions.(store.Observed); ok {
		t.Cleanup(seen.Observe())
	}
	ctx := context.Background()
	all := hostileStrings(t)
	session := "s " + all[0]
	_, err := o.Trees.CreateSession(ctx, session, all[1], nil)
	must(t, err)
	parent := ""
	for i, s := range all {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "")
		}
		short := s[:min(len(s), 300)]
		for !utf8.ValidString(short) {
			short = short[:len(short)-1]
		}
		id := fmt.Sprintf("%02d %s", i, short)
		if i%9 == 0 {
			_, err := o.Trees.CreateSession(ctx, id, short, ptr(float64(3600)))
			must(t, err)
		}
		n := store.Node{ID: id, Kind: short, Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(all[i])}, store.Member{Key: short, Value: store.Quote(s)})}
		if parent != "" {
			n.ParentID = ptr(parent)
		}
		must(t, o.Trees.Append(ctx, session, n))
		if i%3 == 0 {
			parent = id
		}
		exe := &store.Execution{ID: id, DefinitionID: s, Status: store.Status(short), ActivePath: ptr(s), Outcome: ptr(s), Error: ptr(s), RootPath: s,
			Context: store.ObjectOf(store.Member{Key: s, Value: store.Quote(s)})}
		if i%2 == 1 {
			exe.Status = store.Running
		}
		step := store.ObjectOf(
			store.Member{Key: "event_kind", Value: store.Quote(s)}, store.Member{Key: "from_path", Value: store.Quote(s)}, store.Member{Key: "to_path", Value: store.Quote(s)},
			store.Member{Key: "actions", Value: store.JSON("[" + string(store.Quote(s)) + "]")}, store.Member{Key: "context_out", Value: exe.Context}, store.Member{Key: "timestamp", Value: store.JSON(strconv.Itoa(int(noon.Unix()) - 60 + i))},
			store.Member{Key: "error", Value: store.Quote(s)})
		_, err := o.Executions.Commit(ctx, store.Commit{
			Execution: exe, Trace: step,
			Emits:  []store.Emit{{TargetID: ptr(id), Event: store.Event{ID: s, Kind: s}}},
			Spawns: []store.Spawn{{ChildID: id + " child", RootPath: s, Context: exe.Context}},
			Timers: []store.TimerOp{{Action: store.Schedule, Path: s, FireAt: float64(noon.Unix() + 3600)}},
		})
		must(t, err)
	}
	o.Info.Name, o.Info.Locator, o.Info.Path, o.Info.Why = all[2]+".db", all[3], "/srv/"+all[4], all[5]
	o.Info.Notes = []string{all[6]}
	o.Info.Sets = []locate.Set{{Prefix: all[7], Open: true}}
	return o
}

// everywhere are keys that lead through all panes, dialogs and boxes.
var everywhere = []string{
	"2", "j", "j", "G", "g", "space", "space", "enter", "j", "pgdown", "G", "3", "j", "enter", "4", "G", "g", "z", "z", "1", "j", "G",
	"2", "a", "x", "esc", "t", "esc", "1", "l", "j", "j", "G", "g", "s", "esc", "T", "esc", "r", "esc", "5", "j", "[", "]", "enter", "6", "j", "l", "j", "l", "j", "w", "j", "h", "A", "esc", "h", "A", "esc", "l", "l", "f", "esc",
	"?", "j", "G", "esc", "i", "j", "G", "esc", ":", "esc", "y", "1", "l", "j", "space", "h", "h", "/", "x", "enter", "esc", "Q", "R",
}

// wide fails unless every row of the screen is as wide as the window by the rule
// that holds, and by both where only one of them is known to.
func (d *driver) wide(after string) {
	d.t.Helper()
	for i, line := range strings.Split(d.screen(), "\n") {
		if w := ansi.StringWidth(line); w != d.m.width {
			d.t.Fatalf("after %s line %d is %d wide by clusters: %q", after, i, w, line)
		}
		if w := ansi.StringWidthWc(line); d.m.term.Rule == term.Wcwidth && w != d.m.width {
			d.t.Fatalf("after %s line %d is %d wide by code points: %q", after, i, w, line)
		}
		for _, r := range ansi.Strip(line) {
			joins := d.m.term.Rule == term.Grapheme && (r == 0x200d || r == 0xfe0f)
			if !joins && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)) {
				d.t.Fatalf("after %s line %d holds %U: %q", after, i, r, line)
			}
		}
	}
	checkTitle(d.t, d.m.View().WindowTitle)
}

func checkTitle(t testing.TB, title string) {
	t.Helper()
	if ansi.StringWidth(title) > 140 || strings.ContainsFunc(title, func(r rune) bool { return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) }) {
		t.Fatalf("the title is %q", title)
	}
}

// Whatever is stored, every row is exactly as wide as the window, under both rules
// and in ASCII.
func TestHostileTextFitsEverywhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		size   [2]int
		ascii  bool
		counts bool // the terminal counts by clusters
	}{{"80x24", [2]int{80, 24}, false, false}, {"200x60", [2]int{200, 60}, false, false}, {"40x12", [2]int{40, 12}, false, false}, {"clusters", [2]int{100, 30}, false, true}, {"clusters/80x24", [2]int{80, 24}, false, true}, {"clusters/200x60", [2]int{200, 60}, false, true}, {"ascii", [2]int{100, 30}, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			d := openWith(t, hostileStore(t), config{ascii: c.ascii}, c.size[0], c.size[1])
			d.m.info.Locator = hostileStrings(t)[3]
			if c.counts {
				d.send(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
			}
			for i, s := range append(hostileStrings(t), "") {
				if i%5 == 0 {
					d.m.failed("cannot "+s, errors.New(s))
					d.wide("an error")
				}
			}
			for i, key := range everywhere {
				d.press(key).advance(time.Second)
				d.wide(fmt.Sprintf("key %d, %s", i, key))
			}
			if c.ascii && strings.ContainsFunc(d.text(), func(r rune) bool { return r > 0x7e }) {
				t.Errorf("not only ASCII:\n%s", d.text())
			}
		})
	}
}

// ourSequences fails unless a record of what a terminal was sent holds our own
// sequences only: of every kind those that the program is known to use.
func ourSequences(t *testing.T, record []byte) {
	t.Helper()
	modes := map[int]bool{1049: true, 7: true, 25: true, 2004: true, 1004: true, 1002: true, 1006: true, 1003: true, 2026: true, 2027: true, 5: true}
	p := ansi.NewParser()
	var state byte
	rest := record
	count := map[string]int{}
	for len(rest) > 0 {
		seq, width, n, now := ansi.DecodeSequence(rest, state, p)
		state = now
		at := len(record) - len(rest)
		bad := func(what string) {
			t.Fatalf("%s at %d: %q in %q", what, at, seq, record[max(at-80, 0):min(at+80, len(record))])
		}
		switch {
		case width > 0:
			for _, r := range string(seq) {
				if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError && !bytes.Contains(seq, []byte("\ufffd")) || unicode.Is(unicode.Cf, r) && r != 0x200d {
					bad("a character that is none")
				}
			}
			count["text"]++
		case len(seq) == 1:
			if !bytes.ContainsAny(seq, "\r\n\b\t") {
				bad("a control")
			}
		case strings.IndexFunc(string(seq), func(r rune) bool { return !unicode.In(r, unicode.M) }) < 0:
			// Marks of the letter before them, from which the decoder parts them.
		case seq[0] != 0x1b:
			bad("something without a width")
		case seq[1] == '[':
			cmd := ansi.Cmd(p.Command())
			switch final := cmd.Final(); {
			case cmd.Prefix() == '?' && (final == 'h' || final == 'l'):
				for _, m := range p.Params() {
					if !modes[m.Param(0)] {
						bad("a mode")
					}
				}
			case cmd.Prefix() == '?' && (final == 'u' || final == 'W' || final == 'p' && cmd.Intermediate() == '$'):
			case cmd.Prefix() == '>' && (final == 'm' || final == 'u'), cmd.Prefix() == '<' && final == 'u':
			case cmd.Prefix() == 0 && cmd.Intermediate() == 0 && strings.ContainsRune("ABCDGHJKLMPSTXZ@ITbdmr`e", rune(final)):
			case cmd.Prefix() == 0 && final == 't' && (bytes.Equal(seq, []byte("\x1b[22;2t")) || bytes.Equal(seq, []byte("\x1b[23;2t"))):
			case bytes.Equal(seq, []byte("\x1b[c")):
			case cmd.Prefix() == 0 && cmd.Intermediate() == ' ' && final == 'q': // the cursor's shape
			default:
				bad("a control sequence")
			}
			count["csi"]++
		case seq[1] == ']':
			if c := p.Command(); c == 8 {
				if !ours.Match(seq) {
					bad("a link")
				}
				break
			} else if c != 0 && c != 2 && c != 11 {
				bad("an operating system command")
			} else if c != 11 {
				checkTitle(t, string(p.Data()))
			}
			if bytes.Contains(seq, []byte("OWNED")) && !bytes.Contains(seq, []byte("␛]0;OWNED")) {
				bad("a title")
			}
		case bytes.Equal(seq, []byte("\x1bM")), bytes.Equal(seq, []byte("\x1b7")), bytes.Equal(seq, []byte("\x1b8")), bytes.Equal(seq, []byte("\x1b(B")):
		default:
			bad("an escape sequence")
		}
		rest = rest[n:]
	}
	if count["text"] < 1000 || count["csi"] < 100 {
		t.Errorf("the record is too small to say anything: %v", count)
	}
}
