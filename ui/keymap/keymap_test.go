package keymap

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Chord{
		"x": "x", "X": "X", "shift+x": "X", "ctrl+x": "ctrl+x", "Ctrl+X": "ctrl+x", "alt+ctrl+x": "ctrl+alt+x", "g x": "g x", " g   G ": "g G",
		"Return": "enter", "escape": "esc", "PageDown": "pgdown", "shift+tab": "shift+tab", "space": "space", "+": "+", "ctrl++": "ctrl++",
		"f12": "f12", "?": "?", "é": "é", "漢": "漢", "control+option+x": "ctrl+alt+x", "Z shift+left": "Z shift+left",
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "  ", "xy", "ctrl+", "ctrl+ctrl+x", "hold+x", "a b c d", "ctrl+xy", "\x01", "\u202e", "\xff", "f25"} {
		_, err := Parse(text)
		var wrong *ChordError
		if !errors.As(err, &wrong) || wrong.Text != text {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What was parsed is parsed to itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"x", "ctrl++", "g g", "shift+tab", "+", "++", "ctrl+shift+é", "İ", "shift+ß", "alt+ǅ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(string(c))
		if err != nil || again != c {
			t.Errorf("%q is %q, and that is %q, %v", text, c, again, err)
		}
	})
}

func TestModified(t *testing.T) {
	for c, want := range map[Chord]bool{"x": false, "X": false, "+": false, "ctrl+x": true, "g ctrl+x": true, "shift+tab": true, "g +": false} {
		if c.Modified() != want {
			t.Errorf("%q: %v", c, !want)
		}
	}
}

func TestLatin(t *testing.T) {
	for _, pair := range [][2]string{{cyrillic, onCyr}, {greek, onGreek}} {
		if n := len([]rune(pair[0])); n != len(pair[1]) {
			t.Errorf("%d letters on %d keys", n, len(pair[1]))
		}
	}
	for text, want := range map[string]string{"о": "j", "О": "J", "й": "q", "ξ": "j", "Ξ": "J", "і": "s"} {
		if got, ok := Latin(text); !ok || got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, text := range []string{"", "j", "漢", "оо"} {
		if got, ok := Latin(text); ok {
			t.Errorf("%q: %q", text, got)
		}
	}
}

var (
	places = []Place{{1, "navigator"}, {2, "tree"}, {3, "queues"}}
	rows   = []Row{
		{ID: "up", Keys: []string{"up", "k"}},
		{ID: "first", Keys: []string{"g", "home"}},
		{ID: "fold", Keys: []string{"space"}, Scopes: []Scope{2}},
		{ID: "fire", Keys: []string{"f"}, Scopes: []Scope{3}},
		{ID: "wider", Keys: []string{"Z right", "Z l"}},
		{ID: "narrower", Keys: []string{"Z left"}},
		{ID: "quit", Keys: []string{"q", "ctrl+c"}},
	}
)

func TestLookup(t *testing.T) {
	m, problems := Build(rows, places, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		scope   Scope
		presses string
		id      string
		more    bool
	}{
		{1, "k", "up", false}, {2, "space", "fold", false}, {1, "space", "", false}, {3, "f", "fire", false},
		{1, "Z", "", true}, {1, "Z l", "wider", false}, {1, "Z x", "", false}, {9, "k", "", false},
	} {
		if id, more := m.Lookup(c.scope, strings.Fields(c.presses)...); id != c.id || more != c.more {
			t.Errorf("%q in %d: %q %v", c.presses, c.scope, id, more)
		}
	}
	want := []Next{{Press: "l", ID: "wider"}, {Press: "left", ID: "narrower"}, {Press: "right", ID: "wider"}}
	if got := m.After(2, "Z"); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := m.After(2); len(got) != 8 || !slices.Contains(got, Next{Press: "Z", More: 3}) {
		t.Errorf("%v", got)
	}
}

func TestRemapping(t *testing.T) {
	for name, c := range map[string]struct {
		remap map[string][]string
		keys  map[string]string // of intents, joined
		want  []string          // problems
	}{
		"another key":  {map[string][]string{"up": {"ctrl+p", "u"}}, map[string]string{"up": "ctrl+p,u"}, nil},
		"unbound":      {map[string][]string{"fire": {}}, map[string]string{"fire": ""}, nil},
		"taken":        {map[string][]string{"quit": {"k"}}, map[string]string{"quit": "k", "up": "up"}, []string{`quit and up are both on "k"; quit keeps it everywhere`}},
		"taken in one": {map[string][]string{"fire": {"k"}}, map[string]string{"fire": "k", "up": "up,k"}, []string{`fire and up are both on "k"; fire keeps it in the queues`}},
		"both remapped": {map[string][]string{"up": {"x"}, "quit": {"x", "Q"}}, map[string]string{"up": "x", "quit": "Q"},
			[]string{`up and quit are both on "x"; up keeps it everywhere`}},
		"prefix": {map[string][]string{"wider": {"g w"}}, map[string]string{"wider": "g w", "first": "home"},
			[]string{`wider on "g w" and first on "g" exclude each other; wider keeps its key everywhere`}},
		"nothing left": {map[string][]string{"wider": {"f", "space"}}, map[string]string{"fire": "", "wider": "f,space"},
			[]string{`wider and fold are both on "space"; wider keeps it in the tree`, "fold has no key left; the palette runs it",
				`wider and fire are both on "f"; wider keeps it in the queues`, "fire has no key left; the palette runs it"}},
		"unknown":   {map[string][]string{"quti": {"x"}, "abcdefghij": {"y"}}, nil, []string{`there is no intent "abcdefghij"`, `there is no intent "quti"; is it "quit"?`}},
		"no key":    {map[string][]string{"up": {"hold+x", "p"}}, map[string]string{"up": "p"}, []string{`up: "hold+x" is no key: "hold" is no modifier; there are ctrl, alt, shift, meta, hyper, super`}},
		"tmux":      {map[string][]string{"up": {"ctrl+b"}}, map[string]string{"up": "ctrl+b"}, []string{"up: ctrl+b is tmux's prefix and arrives there only if it is pressed twice"}},
		"interrupt": {map[string][]string{"up": {"ctrl+c", "u"}}, map[string]string{"up": "u"}, []string{"up: ctrl+c always quits"}},
		"quit":      {map[string][]string{"quit": {"ctrl+c"}}, map[string]string{"quit": "ctrl+c"}, nil},
	} {
		m, problems := Build(rows, places, c.remap)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: problems\n%q, want\n%q", name, got, c.want)
		}
		for id, want := range c.keys {
			var keys []string
			for _, k := range m.Keys(id) {
				keys = append(keys, string(k))
			}
			if got := strings.Join(keys, ","); got != want {
				t.Errorf("%s: %s is on %q, want %q", name, id, got, want)
			}
		}
	}
}

// Whatever is remapped to what, a press means one thing: no chord is the
// beginning of another, and every key that is listed leads to its intent.
func TestAMapIsNeverAmbiguous(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "g", "k", "a b", "a b c", "g g", "Z", "ctrl+x", "x y z w", "", "space"})
	rapid.Check(t, func(t *rapid.T) {
		remap := map[string][]string{}
		for _, r := range rows {
			if rapid.Bool().Draw(t, "remapped") {
				remap[r.ID] = rapid.SliceOfN(key, 0, 4).Draw(t, r.ID)
			}
		}
		m, _ := Build(rows, places, remap)
		for s, bound := range m.bound {
			for c, id := range bound {
				if m.prefix[s][c] {
					t.Fatalf("%q is %s and a prefix", c, id)
				}
				if got, _ := m.Lookup(s, c.Presses()...); got != id || !slices.Contains(m.Keys(id), c) {
					t.Fatalf("%q leads to %q, want %q, which lists %v", c, got, id, m.Keys(id))
				}
			}
			for c := range m.prefix[s] {
				if len(m.After(s, c.Presses()...)) == 0 {
					t.Fatalf("nothing follows %q", c)
				}
			}
		}
	})
}
