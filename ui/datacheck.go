package ui

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/ui/field"
)

// checkedAtOnce is how much data is checked with every key. What is longer is
// checked behind the screen.
const checkedAtOnce = 64 << 10

// dataCheck is what was found of the data as of a revision.
type dataCheck struct {
	rev  int
	data store.JSON
	err  error
	at   int // the byte at which it is wrong; -1: at none
}

// checkData looks whether a text is what a node's data can be. Nothing at all
// stands for the empty object.
func checkData(text string, rev int) dataCheck {
	c := dataCheck{rev: rev, at: -1}
	if c.data = store.JSON(strings.TrimFunc(text, unicode.IsSpace)); c.data == "" {
		c.data = store.EmptyObject
		return c
	}
	j, err := store.ParseStrictJSON(text)
	var syntax *store.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line, column := field.LineColumn(text, syntax.Offset)
		c.at, c.err = syntax.Offset, fmt.Errorf("not JSON, line %d, column %d: %s", line, column, syntax.Reason)
	case err != nil:
		c.err = err
	case j.Kind() != store.Object:
		c.at = len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		c.err = fmt.Errorf("%w but %s: the data is to be {…}", store.ErrNotObject, j.Kind())
	default:
		c.data = j
	}
	return c
}

// checkArea checks the data in an area; where that would hold up the screen, behind
// it, one check at a time.
func checkArea(a *field.Area, check *dataCheck, checking *bool) tea.Cmd {
	rev := a.Rev()
	switch {
	case check.rev == rev && check.data != "" || *checking:
		return nil
	case a.Len() <= checkedAtOnce:
		*check = checkData(a.Text(), rev)
		return nil
	}
	*checking = true
	text := a.Text()
	return func() tea.Msg {
		c := checkData(text, rev)
		return answerFunc(func(m *Model) tea.Cmd {
			*checking, *check = false, c
			m.screen.bars()
			return checkArea(a, check, checking)
		})
	}
}

// argumentOf is node data as an argument, FILE standing for what is too long to be one.
func argumentOf(data store.JSON) string {
	if len(data) > maxCommandData {
		return "@FILE"
	}
	return string(data)
}
