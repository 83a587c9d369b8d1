package term

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// MaxClipboard is how many bytes [OSC52] accepts. Their base64 form stays
// below 100,000 bytes, where common terminals begin to drop the sequence
// without a word.
const MaxClipboard = 74_994

// ClipboardTooLargeError says that a text is longer than [MaxClipboard].
type ClipboardTooLargeError struct {
	// Size is the length of the text and Max the most that is accepted, both
	// in bytes.
	Size, Max int
}

// Error implements error.
func (e *ClipboardTooLargeError) Error() string {
	return fmt.Sprintf("%d bytes are too many for the terminal's clipboard, which takes %d: export to a file instead", e.Size, e.Max)
}

// screenChunk is how many bytes GNU Screen takes in one pass-through string.
// It refuses strings of 768 bytes; older versions refuse shorter ones.
const screenChunk = 240

// OSC52 returns the sequence that asks the terminal to put text on the system
// clipboard, wrapped for the multiplexer that env (as [os.Environ] returns it)
// tells of. It fails with a [*ClipboardTooLargeError] if text is too long.
//
// Tmux acts on the bare sequence only with set-clipboard on, and on the
// wrapped one only with allow-passthrough on, so it gets both.
func OSC52(text string, env []string) (seq string, err error) {
	if len(text) > MaxClipboard {
		return "", &ClipboardTooLargeError{Size: len(text), Max: MaxClipboard}
	}
	seq = ansi.SetSystemClipboard(text)
	name := getenv(env, "TERM")
	switch {
	case getenv(env, "TMUX") != "", strings.HasPrefix(name, "tmux"):
		return seq + ansi.TmuxPassthrough(seq), nil
	case getenv(env, "STY") != "":
		return ansi.ScreenPassthrough(seq, screenChunk), nil
	case strings.HasPrefix(name, "screen"):
		// Screen, or tmux under its older name, on the far side of a login.
		// Each ignores the other's form.
		return seq + ansi.ScreenPassthrough(seq, screenChunk), nil
	}
	return seq, nil
}
