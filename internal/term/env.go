package term

import (
	"slices"
	"strconv"
	"strings"
)

// NoColor reports whether the environment env (as [os.Environ] returns it)
// asks for output without colour: NO_COLOR is set and not empty.
func NoColor(env []string) bool { return getenv(env, "NO_COLOR") != "" }

// Depth is how many colours a terminal has.
type Depth uint8

const (
	// NoColours is none, by ability or by wish.
	NoColours Depth = iota
	// SixteenColours are those of the terminal's palette.
	SixteenColours
	// EightBit is 256 colours.
	EightBit
	// TrueColour is 24 bits.
	TrueColour
)

// ColourDepth is how many colours the terminal may be sent, by its environment
// alone: no other program is run and nothing is asked. In order of weight:
// NO_COLOR, CLICOLOR_FORCE, CLICOLOR=0, TERM and COLORTERM.
func ColourDepth(env []string) Depth {
	if NoColor(env) {
		return NoColours
	}
	able := TerminalDepth(env)
	if force := getenv(env, "CLICOLOR_FORCE"); force != "" && force != "0" {
		return max(able, SixteenColours)
	}
	if getenv(env, "CLICOLOR") == "0" {
		return NoColours
	}
	return able
}

// TerminalDepth is how many colours the terminal has, whatever the user wishes.
func TerminalDepth(env []string) Depth {
	name := getenv(env, "TERM")
	multiplexed := strings.HasPrefix(name, "screen") || strings.HasPrefix(name, "tmux") || getenv(env, "TMUX") != ""
	depth := SixteenColours
	switch {
	case Dumb(env), strings.HasSuffix(name, "-m"), strings.HasSuffix(name, "-mono"), strings.HasPrefix(name, "vt") && !strings.Contains(name, "color"):
		return NoColours // the VT series has none
	case strings.HasSuffix(name, "-direct"):
		return TrueColour
	case multiplexed, strings.Contains(name, "256color"):
		depth = EightBit
	case slices.Contains([]string{"alacritty", "xterm-ghostty", "xterm-kitty", "foot", "wezterm", "contour"}, name):
		return TrueColour
	}
	// COLORTERM comes through a multiplexer unchanged, which may know fewer.
	switch strings.ToLower(getenv(env, "COLORTERM")) {
	case "truecolor", "24bit":
		if !multiplexed {
			return TrueColour
		}
	case "256color":
		return max(depth, EightBit)
	}
	if getenv(env, "WT_SESSION") != "" {
		return TrueColour
	}
	return depth
}

// Dumb reports whether the terminal cannot place text.
func Dumb(env []string) bool { return getenv(env, "TERM") == "dumb" }

// LightBackground reports whether the environment says that the terminal's
// background is light. Few do; where it is silent the terminal can be asked.
func LightBackground(env []string) bool {
	fields := strings.Split(getenv(env, "COLORFGBG"), ";")
	n, err := strconv.Atoi(fields[len(fields)-1])
	return err == nil && (n == 7 || n >= 9 && n <= 15)
}

// getenv returns the value of key in env, the last one if there are several,
// as the os package does.
func getenv(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// maxTitle is how wide a window title may be, in cells.
const maxTitle = 120

// Title makes a window title of s. Titles travel inside an escape sequence,
// and some terminals can be asked to type them back into the shell, so a title
// is one short sanitised line like any other text.
func Title(s string) string { return Profile{}.Title(s) }

// Title is [Title] under the profile.
func (p Profile) Title(s string) string { return p.SanitiseN(s, maxTitle).String() }
