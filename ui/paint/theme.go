package paint

import (
	"strings"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

// Theme is how things look. No meaning rests on a colour: every style belongs to
// a word or a mark that says the same.
type Theme struct {
	Dim, Bold, Key                      Style
	Selected                            Style // the selected row of the focused pane
	Match                               Style // what is searched for
	Border, BorderFocus                 Style
	Title, TitleFocus                   Style
	Error, Warn, Good, Info             Style
	Added, Removed, Changed             Style
	ReadOnly, Writable                  Style
	Tree                                treeview.Glyphs
	Rule, RuleFocus, Wall, Mark, NoMark term.Text
	FocusMark, Here, Arrow, Dot, Gap    term.Text
	Bars                                []term.Text // from low to high
	Join                                Joints
	Corners                             [4]term.Text // of a box: top left and right, bottom left and right
}

// Joints are the pieces where rules meet walls.
type Joints struct{ Left, Right, Both, Down term.Text }

// Default returns the theme for a terminal of sixteen colours of which nothing is
// known. ascii draws with ASCII characters only.
func Default(ascii bool) *Theme { return New(Dark16, ascii) }

// New returns a theme in the colours of a scheme. ascii draws with ASCII
// characters only.
func New(s Scheme, ascii bool) *Theme {
	t := &Theme{
		Tree: treeview.Unicode(),
		Rule: term.Lit("─"), RuleFocus: term.Lit("━"), Wall: term.Lit("│"),
		Mark: term.Lit("›"), NoMark: term.Lit(" "), FocusMark: term.Lit("▸"),
		Here: term.Lit("◆"), Arrow: term.Lit("→"), Dot: term.Lit("·"), Gap: term.Lit("░"),
		Bars:    []term.Text{term.Lit("▁"), term.Lit("▂"), term.Lit("▃"), term.Lit("▄"), term.Lit("▅"), term.Lit("▆"), term.Lit("▇"), term.Lit("█")},
		Join:    Joints{Left: term.Lit("┤"), Right: term.Lit("├"), Both: term.Lit("┼"), Down: term.Lit("┬")},
		Corners: [4]term.Text{term.Lit("┌"), term.Lit("┐"), term.Lit("└"), term.Lit("┘")},
	}
	t.colour(s)
	if ascii {
		t.Tree = treeview.ASCII()
		t.Rule, t.RuleFocus, t.Wall = term.Lit("-"), term.Lit("="), term.Lit("|")
		t.Mark, t.FocusMark = term.Lit(">"), term.Lit(">")
		t.Here, t.Arrow, t.Dot = term.Lit("*"), term.Lit("->"), term.Lit("-")
		t.Gap, t.Bars = term.Lit(":"), []term.Text{term.Lit("_"), term.Lit("="), term.Lit("#")}
		plus := term.Lit("+")
		t.Join, t.Corners = Joints{plus, plus, plus, plus}, [4]term.Text{plus, plus, plus, plus}
	}
	return t
}

// Styles are the theme's styles, always in the same order.
func (t *Theme) Styles() []Style {
	return []Style{
		t.Dim, t.Bold, t.Key, t.Selected, t.Border, t.BorderFocus, t.Title, t.TitleFocus, t.Error, t.Warn, t.Good, t.Info,
		t.Added, t.Removed, t.Changed, t.ReadOnly, t.Writable, t.Match,
	}
}

// Status is the style of a status word. The word itself is always there too.
func (t *Theme) Status(s store.Status) Style {
	switch store.Status(strings.ToUpper(string(s))) {
	case store.Running:
		return t.Good
	case store.Pending:
		return t.Info
	case store.Suspended, store.Cancelling:
		return t.Warn
	case store.Failed, "":
		return t.Error
	case store.Done, store.Cancelled:
		return t.Dim
	}
	return t.Bold
}
