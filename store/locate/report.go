package locate

import (
	"context"
	"fmt"

	"treering/store/foreign"
)

// maxListed is how many warnings of a session Warnings returns.
const maxListed = 200

// Warnings says what is wrong with a session in the format of another program: how
// many things there are, and the first of them, a line each with its place. Their
// texts are foreign. There are none in any other store.
func (o *Opened) Warnings(ctx context.Context, session string) (count int64, lines []string, err error) {
	if o.Foreign == nil {
		return 0, nil, nil
	}
	r, _, err := o.Foreign.Report(ctx, session)
	if err != nil {
		return 0, nil, err
	}
	for _, w := range r.Warnings[:min(len(r.Warnings), maxListed)] {
		lines = append(lines, WarningText(w))
	}
	return int64(len(r.Warnings)) + r.Dropped, lines, nil
}

// WarningText is a warning with its place.
func WarningText(w foreign.Warning) string {
	place := w.Place.String()
	switch {
	case w.Table != "" && w.Place.Offset == 0:
		place = "table " + w.Table
	case w.Table != "":
		place = "table " + w.Table + ", " + place
	}
	if w.ID != "" {
		return fmt.Sprintf("%s, %s: %s", place, w.ID, w.Text)
	}
	return place + ": " + w.Text
}
