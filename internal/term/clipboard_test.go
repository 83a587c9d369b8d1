package term

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestOSC52(t *testing.T) {
	const bare = "\x1b]52;c;aMOp\a"
	const tmux = "\x1bPtmux;\x1b\x1b]52;c;aMOp\a\x1b\\"
	const screen = "\x1bP\x1b]52;c;aMOp\a\x1b\\"
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"no multiplexer", []string{"TERM=xterm-256color"}, bare},
		{"no environment", nil, bare},
		{"tmux", []string{"TERM=screen-256color", "TMUX=/tmp/tmux-0/default,1,0"}, bare + tmux},
		{"tmux in screen", []string{"TERM=tmux", "STY=1.x", "TMUX=/tmp/t,1,0"}, bare + tmux},
		{"tmux over a login", []string{"TERM=tmux-256color"}, bare + tmux},
		{"screen", []string{"TERM=xterm", "STY=12.pts-0.host"}, screen},
		{"either over a login", []string{"TERM=screen.xterm-256color"}, bare + screen},
	} {
		if got, err := OSC52("hé", c.env); got != c.want || err != nil {
			t.Errorf("%s: OSC52 = %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestOSC52InPieces(t *testing.T) {
	text := strings.Repeat("x", 1000)
	got, err := OSC52(text, []string{"STY=1.x"})
	if err != nil {
		t.Fatal(err)
	}
	var joined strings.Builder
	for _, piece := range strings.Split(strings.TrimSuffix(got, "\x1b\\"), "\x1b\\") {
		data, ok := strings.CutPrefix(piece, "\x1bP")
		if !ok || len(data) > screenChunk {
			t.Fatalf("piece %q", piece)
		}
		joined.WriteString(data)
	}
	if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"; joined.String() != want {
		t.Errorf("the pieces hold %q, want %q", joined.String(), want)
	}
}

func TestOSC52Cap(t *testing.T) {
	if _, err := OSC52(strings.Repeat("x", MaxClipboard), nil); err != nil {
		t.Errorf("OSC52 of the largest text = %v", err)
	}
	_, err := OSC52(strings.Repeat("x", MaxClipboard+1), nil)
	var large *ClipboardTooLargeError
	if !errors.As(err, &large) || large.Size != MaxClipboard+1 || large.Max != MaxClipboard {
		t.Fatalf("OSC52 of a larger text = %v", err)
	}
	if !strings.Contains(err.Error(), "74995") || !strings.Contains(err.Error(), "74994") {
		t.Errorf("the error %q does not name both sizes", err)
	}
}
