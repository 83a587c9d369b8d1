package paint

import (
	"fmt"
	"strings"

	"treering/internal/term"
)

// Scheme is a set of colours.
type Scheme uint8

const (
	// Dark16 and Light16 are the terminal's own sixteen colours, those of them
	// that can be read on a dark and on a light background.
	Dark16 Scheme = iota
	Light16
	// Dark and Light have colours of their own. They are ones that the 256
	// colours hold exactly, so both depths look the same.
	Dark
	Light
	// Mono has none: bold, faint and reverse only.
	Mono
)

// Choice is what a user may ask for.
type Choice string

const (
	// Auto is the terminal's sixteen colours, or none where the environment asks
	// for none or the terminal has none.
	Auto Choice = "auto"
	// Sixteen is the terminal's sixteen colours, whatever the environment says.
	Sixteen Choice = "16"
)

// Choices are the names of the themes.
func Choices() []string { return []string{string(Auto), "dark", "light", string(Sixteen), "mono"} }

// UnknownThemeError says that there is no theme of that name.
type UnknownThemeError struct{ Name string }

// Error implements error.
func (e *UnknownThemeError) Error() string {
	return fmt.Sprintf("there is no theme %q; the themes are %s", e.Name, strings.Join(Choices(), ", "))
}

// Choose returns the scheme for a choice ("" is Auto) in an environment, and
// whether it depends on the background, which the terminal may be asked for. It
// fails with an [*UnknownThemeError].
func Choose(c Choice, env []string) (s Scheme, asks bool, err error) {
	switch c {
	case "", Auto:
		if term.ColourDepth(env) == term.NoColours {
			return Mono, false, nil
		}
		return sixteen(env), true, nil
	case Sixteen:
		return sixteen(env), true, nil
	case "dark":
		return Dark, false, nil
	case "light":
		return Light, false, nil
	case "mono":
		return Mono, false, nil
	}
	return Dark16, false, &UnknownThemeError{string(c)}
}

func sixteen(env []string) Scheme {
	if term.LightBackground(env) {
		return Light16
	}
	return Dark16
}

// colour sets the styles.
func (t *Theme) colour(s Scheme) {
	t.Bold, t.Key, t.ReadOnly, t.Title = SGR("1"), SGR("1"), SGR("1"), ""
	t.Match = SGR("1;4")
	switch s {
	case Light16:
		t.Dim, t.Border, t.Selected = SGR("2"), SGR("2"), SGR("7")
		t.accents("1;34")
		t.says("1;31", "35", "34", "34")
		t.Writable = SGR("1;35")
	case Dark:
		t.Dim, t.Border = rgb(175, 175, 175), rgb(148, 148, 148)
		t.accents("1;" + rgbOf(135, 215, 255))
		t.says("1;"+rgbOf(255, 135, 135), rgbOf(255, 215, 95), rgbOf(135, 215, 135), rgbOf(135, 215, 255))
		t.Writable = SGR("1;" + rgbOf(255, 175, 255))
		t.Selected = SGR("1;" + rgbOf(255, 255, 255) + ";48;2;0;95;175")
	case Light:
		t.Dim, t.Border = rgb(88, 88, 88), rgb(98, 98, 98)
		t.accents("1;" + rgbOf(0, 95, 135))
		t.says("1;"+rgbOf(175, 0, 0), rgbOf(135, 95, 0), rgbOf(0, 95, 0), rgbOf(0, 95, 135))
		t.Writable = SGR("1;" + rgbOf(135, 0, 135))
		t.Selected = SGR("1;" + rgbOf(255, 255, 255) + ";48;2;0;95;175")
	case Mono:
		t.Dim, t.Border, t.Selected = SGR("2"), SGR("2"), SGR("7")
		t.accents("1")
		t.Error, t.Warn, t.Removed, t.Writable = SGR("1"), SGR("1"), "", SGR("1")
	default:
		// Bright green, yellow and cyan would be greys in a widespread palette,
		// plain red and magenta too dark in others.
		t.Dim, t.Border, t.Selected = SGR("2"), SGR("2"), SGR("7")
		t.accents("1;36")
		t.says("1;91", "1;33", "32", "36")
		t.Writable = SGR("1;95")
	}
}

func (t *Theme) accents(params string) { t.BorderFocus, t.TitleFocus = SGR(params), SGR(params) }

// says sets the styles that go with a meaning.
func (t *Theme) says(bad, warn, good, info string) {
	t.Error, t.Warn, t.Good, t.Info = SGR(bad), SGR(warn), SGR(good), SGR(info)
	t.Added, t.Removed, t.Changed = t.Good, SGR(strings.TrimPrefix(bad, "1;")), t.Warn
}

func rgb(r, g, b int) Style { return SGR(rgbOf(r, g, b)) }

// rgbOf are the parameters of a foreground colour.
func rgbOf(r, g, b int) string { return fmt.Sprintf("38;2;%d;%d;%d", r, g, b) }
