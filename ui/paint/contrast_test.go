package paint

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"treering/store"
)

type rgbColour [3]float64

// luminance and contrast are those of the WCAG.
func (c rgbColour) luminance() float64 {
	linear := func(v float64) float64 {
		if v /= 255; v > 0.04045 {
			return math.Pow((v+0.055)/1.055, 2.4)
		}
		return v / 12.92
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

func contrast(a, b rgbColour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// palette is the sixteen colours of a terminal, with its own text and background.
type palette struct {
	name     string
	colours  [16]rgbColour
	text, bg rgbColour
	// brightens is whether bold text in one of the first eight colours has the
	// bright one.
	brightens bool
}

// palettes of terminals in wide use, each on the backgrounds it is used with.
func palettes(dark bool) []palette {
	xterm := [16]rgbColour{{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
		{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255}}
	tango := [16]rgbColour{{0, 0, 0}, {204, 0, 0}, {78, 154, 6}, {196, 160, 0}, {52, 101, 164}, {117, 80, 123}, {6, 152, 154}, {211, 215, 207},
		{85, 87, 83}, {239, 41, 41}, {138, 226, 52}, {252, 233, 79}, {114, 159, 207}, {173, 127, 168}, {52, 226, 226}, {238, 238, 236}}
	vga := [16]rgbColour{{0, 0, 0}, {170, 0, 0}, {0, 170, 0}, {170, 85, 0}, {0, 0, 170}, {170, 0, 170}, {0, 170, 170}, {170, 170, 170},
		{85, 85, 85}, {255, 85, 85}, {85, 255, 85}, {255, 255, 85}, {85, 85, 255}, {255, 85, 255}, {85, 255, 255}, {255, 255, 255}}
	if dark {
		return []palette{
			{"xterm on black", xterm, rgbColour{229, 229, 229}, rgbColour{0, 0, 0}, true},
			{"tango on black", tango, rgbColour{211, 215, 207}, rgbColour{0, 0, 0}, false},
			{"vga on black", vga, rgbColour{170, 170, 170}, rgbColour{0, 0, 0}, true},
		}
	}
	return []palette{
		{"xterm on white", xterm, rgbColour{0, 0, 0}, rgbColour{255, 255, 255}, false},
		{"tango on white", tango, rgbColour{0, 0, 0}, rgbColour{255, 255, 255}, false},
		{"vga on white", vga, rgbColour{0, 0, 0}, rgbColour{255, 255, 255}, false},
	}
}

// faint is what terminals make of faint text: two thirds of the way from the
// background.
func faint(text, bg rgbColour) (out rgbColour) {
	for i := range out {
		out[i] = bg[i] + (text[i]-bg[i])*2/3
	}
	return out
}

// look is the colours that a style shows in a palette.
func (p palette) look(t *testing.T, s Style) (text, bg rgbColour) {
	t.Helper()
	text, bg = p.text, p.bg
	params := strings.Split(strings.TrimSuffix(strings.TrimPrefix(string(s), "\x1b["), "m"), ";")
	bold, dim, reverse := false, false, false
	at := func(i int) float64 {
		n, err := strconv.Atoi(params[i])
		if err != nil {
			t.Fatalf("style %q: %v", s, err)
		}
		return float64(n)
	}
	for i := 0; i < len(params) && s != ""; i++ {
		switch n := int(at(i)); {
		case n == 1:
			bold = true
		case n == 2:
			dim = true
		case n == 4: // underlined: the colours stay
		case n == 7:
			reverse = true
		case n >= 30 && n <= 37:
			if text = p.colours[n-30]; bold && p.brightens {
				text = p.colours[n-30+8]
			}
		case n >= 90 && n <= 97:
			text = p.colours[n-90+8]
		case n == 38 && int(at(i+1)) == 2:
			text = rgbColour{at(i + 2), at(i + 3), at(i + 4)}
			i += 4
		case n == 48 && int(at(i+1)) == 2:
			bg = rgbColour{at(i + 2), at(i + 3), at(i + 4)}
			i += 4
		default:
			t.Fatalf("style %q has the parameter %d, which this test does not know", s, n)
		}
	}
	if dim {
		text = faint(text, bg)
	}
	if reverse {
		text, bg = bg, text
	}
	return text, bg
}

// minContrast is what text needs to be read with weak eyes.
const minContrast = 4.5

func TestEveryStyleCanBeReadOnItsBackgrounds(t *testing.T) {
	backgrounds := map[Scheme][]rgbColour{
		Dark:  {{0, 0, 0}, {30, 30, 30}, {40, 44, 52}, {0, 43, 54}, {30, 30, 46}},
		Light: {{255, 255, 255}, {253, 246, 227}, {250, 250, 250}, {238, 238, 238}},
	}
	for scheme, name := range map[Scheme]string{Dark16: "16 on dark", Light16: "16 on light", Dark: "dark", Light: "light", Mono: "mono"} {
		var on []palette
		switch scheme {
		case Dark16:
			on = palettes(true)
		case Light16:
			on = palettes(false)
		case Mono:
			on = append(palettes(true), palettes(false)...)
		default:
			for _, bg := range backgrounds[scheme] {
				text := rgbColour{229, 229, 229}
				if scheme == Light {
					text = rgbColour{30, 30, 30}
				}
				on = append(on, palette{name: fmt.Sprint("on ", bg), text: text, bg: bg})
			}
		}
		for _, p := range on {
			for i, s := range New(scheme, false).Styles() {
				text, bg := p.look(t, s)
				least := minContrast
				if p.text == (rgbColour{170, 170, 170}) && strings.Contains(string(s), "[2m") {
					least = 4.3 // its plain text is no brighter
				}
				if c := contrast(text, bg); c < least {
					t.Errorf("theme %s, %s: style %d %q has a contrast of %.2f", name, p.name, i, s, c)
				}
			}
		}
	}
}

// The colours of the themes that have their own are ones of the 256, so that they
// are the same, and as readable, where a terminal has no more.
func TestOwnColoursAreOnesOfThe256(t *testing.T) {
	cube := map[string]bool{}
	for _, v := range []int{0, 95, 135, 175, 215, 255} {
		cube[strconv.Itoa(v)] = true
	}
	grey := func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= 8 && n <= 238 && (n-8)%10 == 0
	}
	for _, scheme := range []Scheme{Dark, Light} {
		for _, s := range New(scheme, false).Styles() {
			params := strings.Split(strings.Trim(string(s), "\x1b[m"), ";")
			for i := 0; i+4 < len(params); i++ {
				if (params[i] == "38" || params[i] == "48") && params[i+1] == "2" {
					r, g, b := params[i+2], params[i+3], params[i+4]
					if !(cube[r] && cube[g] && cube[b]) && !(r == g && g == b && grey(r)) {
						t.Errorf("%q is no colour of the 256", s)
					}
				}
			}
		}
	}
}

func TestThemesByNameAndEnvironment(t *testing.T) {
	for _, c := range []struct {
		choice Choice
		env    string
		want   Scheme
		asks   bool
	}{
		{"", "TERM=xterm-256color", Dark16, true},
		{"auto", "TERM=xterm-256color COLORFGBG=0;15", Light16, true},
		{"auto", "TERM=xterm-256color COLORFGBG=0;default;7", Light16, true},
		{"auto", "TERM=xterm-256color COLORFGBG=15;8", Dark16, true},
		{"auto", "TERM=xterm NO_COLOR=1", Mono, false},
		{"auto", "TERM=xterm NO_COLOR=yes", Mono, false},
		{"auto", "TERM=xterm NO_COLOR=", Dark16, true},
		{"auto", "TERM=xterm CLICOLOR=0", Mono, false},
		{"auto", "TERM=xterm CLICOLOR=0 CLICOLOR_FORCE=1", Dark16, true},
		{"auto", "TERM=xterm NO_COLOR=1 CLICOLOR_FORCE=1", Mono, false},
		{"auto", "TERM=vt100", Mono, false},
		{"auto", "TERM=dumb", Mono, false},
		{"16", "TERM=xterm NO_COLOR=1", Dark16, true},
		{"dark", "TERM=xterm NO_COLOR=1", Dark, false},
		{"light", "TERM=xterm", Light, false},
		{"mono", "TERM=xterm", Mono, false},
	} {
		got, asks, err := Choose(c.choice, strings.Fields(c.env))
		if err != nil || got != c.want || asks != c.asks {
			t.Errorf("%q in %s: %d, %v, %v; want %d, %v", c.choice, c.env, got, asks, err, c.want, c.asks)
		}
	}
	var unknown *UnknownThemeError
	if _, _, err := Choose("solarized", nil); !errors.As(err, &unknown) || unknown.Name != "solarized" {
		t.Errorf("an unknown theme: %v", err)
	}
	for _, name := range Choices() {
		if _, _, err := Choose(Choice(name), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without colours every status, mark and kind of change is told by its glyph or its
// word: no two that mean different things look the same.
func TestNoMeaningRestsOnColour(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		theme := New(Mono, ascii)
		words := map[string]store.Status{}
		for _, s := range store.Statuses() {
			if was, ok := words[string(s)]; ok || s == "" {
				t.Errorf("%q and %q are the same word", was, s)
			}
			words[string(s)] = s
		}
		for what, glyphs := range map[string][]string{
			"selection": {theme.Mark.String(), theme.NoMark.String()},
			"focus":     {theme.FocusMark.String(), theme.Rule.String()},
			"rules":     {theme.Rule.String(), theme.RuleFocus.String(), theme.Wall.String()},
		} {
			seen := map[string]bool{}
			for _, g := range glyphs {
				if seen[g] {
					t.Errorf("ascii %v: %s: %q means two things", ascii, what, g)
				}
				seen[g] = true
			}
		}
		for _, s := range theme.Styles() {
			for _, p := range strings.Split(strings.Trim(string(s), "\x1b[m"), ";") {
				if p != "" && p != "1" && p != "2" && p != "4" && p != "7" {
					t.Errorf("mono has the style %q", s)
				}
			}
		}
	}
}
