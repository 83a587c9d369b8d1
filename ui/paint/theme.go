package paint

import (
	"strings"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
)

// Theme is how things look. Colours are the terminal's own sixteen, of which
// only those are used that read on light and on dark backgrounds; a terminal
// without colours keeps the attributes, and no meaning rests on either.
type Theme struct {
	Dim, Bold, Key                      Style
	Selected                            Style // the selected row of the focused pane
	Border, BorderFocus                 Style
	Title, TitleFocus                   Style
	Error, Warn, Good, Info             Style
	Added, Removed, Changed             Style
	ReadOnly, Writable                  Style
	Tree                                treeview.Glyphs
	Rule, RuleFocus, Wall, Mark, NoMark term.Text
	FocusMark, Here, Arrow, Dot         term.Text
	Join                                Joints
	Corners                             [4]term.Text // of a box: top left and right, bottom left and right
}

// Joints are the pieces where rules meet walls.
type Joints struct{ Left, Right, Both, Down term.Text }

// Default returns the theme. ascii draws with ASCII characters only.
func Default(ascii bool) *Theme {
	t := &Theme{
		Dim: SGR("2"), Bold: SGR("1"), Key: SGR("1"),
		Selected: SGR("7"),
		Border:   SGR("2"), BorderFocus: SGR("1;36"),
		Title: "", TitleFocus: SGR("1;36"),
		Error: SGR("1;31"), Warn: SGR("33"), Good: SGR("32"), Info: SGR("36"),
		Added: SGR("32"), Removed: SGR("31"), Changed: SGR("33"),
		ReadOnly: SGR("1"), Writable: SGR("1;35"),
		Tree: treeview.Unicode(),
		Rule: term.Lit("─"), RuleFocus: term.Lit("━"), Wall: term.Lit("│"),
		Mark: term.Lit("›"), NoMark: term.Lit(" "), FocusMark: term.Lit("▸"),
		Here: term.Lit("◆"), Arrow: term.Lit("→"), Dot: term.Lit("·"),
		Join:    Joints{Left: term.Lit("┤"), Right: term.Lit("├"), Both: term.Lit("┼"), Down: term.Lit("┬")},
		Corners: [4]term.Text{term.Lit("┌"), term.Lit("┐"), term.Lit("└"), term.Lit("┘")},
	}
	if ascii {
		t.Tree = treeview.ASCII()
		t.Rule, t.RuleFocus, t.Wall = term.Lit("-"), term.Lit("="), term.Lit("|")
		t.Mark, t.FocusMark = term.Lit(">"), term.Lit(">")
		t.Here, t.Arrow, t.Dot = term.Lit("*"), term.Lit("->"), term.Lit("-")
		plus := term.Lit("+")
		t.Join, t.Corners = Joints{plus, plus, plus, plus}, [4]term.Text{plus, plus, plus, plus}
	}
	return t
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
