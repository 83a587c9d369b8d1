package field

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEditing(t *testing.T) {
	for _, c := range []struct {
		start, keys, want string
		cursor            int
	}{
		{"", "", "", 0},
		{"abc", "left left X", "aXbc", 2},
		{"abc", "home X end Y", "XabcY", 5},
		{"one two", "ctrl+w", "one ", 4},
		{"one two", "alt+left X", "one Xtwo", 5},
		{"one two", "home alt+right X", "oneX two", 4},
		{"one two", "home alt+d", " two", 0},
		{"one two", "left left left ctrl+k", "one ", 4},
		{"one two", "left left left ctrl+u", "two", 0},
		{"abc", "backspace backspace backspace backspace X", "X", 1},
		{"abc", "home delete delete delete delete X", "X", 1},
		{"aé漢", "left backspace", "a漢", 1},
	} {
		f := New(c.start, 0)
		for _, k := range strings.Fields(c.keys) {
			if !f.Key(k) {
				f.Insert(k)
			}
		}
		if _, cursor := f.View(40); f.Text() != c.want || cursor != c.cursor {
			t.Errorf("%q %q: %q with the cursor at %d, want %q, %d", c.start, c.keys, f.Text(), cursor, c.want, c.cursor)
		}
	}
}

func TestUnknownKeysAreLeftToOthers(t *testing.T) {
	for _, k := range []string{"enter", "esc", "tab", "x", "ctrl+c"} {
		if New("a", 0).Key(k) {
			t.Errorf("%s was taken", k)
		}
	}
}

func TestTooMuchIsRefusedWhole(t *testing.T) {
	f := New("abcd", 6)
	if f.Insert("éé") || f.Text() != "abcd" {
		t.Errorf("%q", f.Text())
	}
	f.Key("backspace")
	f.Key("backspace")
	if !f.Insert("éé") || f.Text() != "abéé" {
		t.Errorf("%q", f.Text())
	}
}

func TestViewKeepsTheCursorInSight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := New(rapid.String().Draw(t, "text"), 0)
		for range rapid.IntRange(0, 10).Draw(t, "moves") {
			f.Key(rapid.SampledFrom([]string{"left", "right", "home", "end", "alt+left", "backspace"}).Draw(t, "key"))
		}
		w := rapid.IntRange(1, 30).Draw(t, "width")
		shown, cursor := f.View(w)
		if shown.Width() > w || cursor < 0 || cursor >= w || cursor > shown.Width() {
			t.Fatalf("%d cells of %d, cursor at %d", shown.Width(), w, cursor)
		}
		if f.size != len(f.Text()) {
			t.Fatalf("size %d of %d bytes", f.size, len(f.Text()))
		}
	})
}

func TestViewShowsWhatAPasteHides(t *testing.T) {
	f := New("a\nb\x1b[2J", 0)
	if shown, _ := f.View(40); shown.String() != "a␊b␛[2J" {
		t.Errorf("%q", shown.String())
	}
}
