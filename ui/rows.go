package ui

// rowCache keeps drawn rows, so that moving a cursor draws the two rows that
// change and scrolling the one that comes in.
type rowCache struct {
	width int
	rows  map[rowKey]string
}

type rowKey struct {
	row  int
	look look
}

// look is how a row's selection shows.
type look uint8

const (
	plain    look = iota
	marked        // selected, in a pane without the focus
	selected      // selected, in the focused pane
)

func lookOf(isSelected, focused bool) look {
	switch {
	case isSelected && focused:
		return selected
	case isSelected:
		return marked
	}
	return plain
}

// maxCachedRows bounds the cache; it is emptied when it is full.
const maxCachedRows = 1024

// get returns a row that was drawn. Where it was not, the caller draws it and
// hands it to put.
func (c *rowCache) get(row int, look look, width int) (string, bool) {
	if c.width != width {
		return "", false
	}
	s, ok := c.rows[rowKey{row, look}]
	return s, ok
}

func (c *rowCache) put(row int, look look, width int, drawn string) string {
	if c.rows == nil || c.width != width || len(c.rows) >= maxCachedRows {
		c.rows, c.width = map[rowKey]string{}, width
	}
	c.rows[rowKey{row, look}] = drawn
	return drawn
}

// drop forgets all rows: what they show has changed.
func (c *rowCache) drop() { c.rows = nil }
