package export

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"treering/internal/term"
	"treering/store"
)

// piVersion is the version of the session files that are written.
const piVersion = 3

// pi writes a session file of the pi coding agent: a header and an entry a line, each
// with the id of its parent. What came from such a file is written back as it was, with
// its place in the tree; every other node is a custom entry that holds it.
func (p *printer) pi() error {
	d := p.doc
	switch {
	case d.Subject != Session:
		return fmt.Errorf("%w: a file of pi holds a session, and no executions", ErrNotDrawn)
	case p.o.WithoutData:
		return fmt.Errorf("%w: a file of pi holds its entries whole, or is none", ErrNotDrawn)
	}
	header := -1 // the item that is it, or only stands for the session
	if len(d.Items) > 0 && d.Items[0].Parent < 0 && d.Items[0].Node != nil {
		if data := d.Items[0].Node.Data; isPiHeader(data.Get("raw")) || data.Get("synthetic") == "true" {
			header = 0
		}
	}
	p.piHeader(header)
	native := header == 0 && isPiHeader(d.Items[0].Node.Data.Get("raw"))
	customs := 0
	for _, i := range p.piOrder(header) {
		it := &d.Items[i]
		if it.Node == nil {
			p.warn("%s is named as a parent, but is not there: what hangs below it is written as first entries", it.ID)
			continue
		}
		parent := store.Null
		if up := it.Parent; up >= 0 && up != header && d.Items[up].Node != nil {
			parent = store.Quote(d.Items[up].ID)
		}
		raw := rawOf(it.Node.Data)
		if !native && raw.Get("parentId") == "" || raw.Get("type").Kind() != store.String {
			raw = store.ObjectOf(store.Member{Key: "type", Value: `"custom"`}, store.Member{Key: "timestamp", Value: store.Quote(piTime(it.Node.Data))},
				store.Member{Key: "customType", Value: store.Quote("treering:" + it.Kind)},
				store.Member{Key: "data", Value: store.ObjectOf(store.Member{Key: "kind", Value: store.Quote(it.Kind)}, store.Member{Key: "data", Value: it.Node.Data})})
			customs++
		}
		p.piLine(raw, it.ID, parent)
	}
	if customs > 0 {
		p.warn("%s written as custom entries, which pi keeps and does not show", counted(customs, "node"))
	}
	return nil
}

func isPiHeader(raw store.JSON) bool {
	return raw.Get("type") == `"session"` && raw.Get("id").Kind() == store.String && raw.Get("message") == ""
}

// rawOf is the record that a node was made of, which an import may have kept as text.
func rawOf(data store.JSON) store.JSON {
	if text, ok := data.Get("raw_text").Text(); ok {
		if raw, err := store.ParseJSON(text); err == nil {
			return raw
		}
	}
	if raw := data.Get("raw"); raw.Kind() == store.Object && raw.Get("not_loaded") == "" {
		return raw
	}
	return ""
}

// piHeader writes the header: the one that is there, or one made of what is known.
func (p *printer) piHeader(item int) {
	d := p.doc
	members := []store.Member{{Key: "type", Value: `"session"`}, {Key: "version", Value: store.JSON(fmt.Sprint(piVersion))}}
	if item >= 0 && isPiHeader(d.Items[item].Node.Data.Get("raw")) {
		for key, v := range d.Items[item].Node.Data.Get("raw").Members() {
			if n, ok := v.Int64(); key == "version" && ok && n > piVersion {
				members[1].Value = v
			}
			if key != "type" && key != "version" {
				members = append(members, store.Member{Key: key, Value: v})
			}
		}
	} else {
		first := store.JSON("")
		for i := range d.Items {
			if d.Items[i].Node != nil && i != item {
				first = d.Items[i].Node.Data
				break
			}
		}
		cwd := first.At("raw", "cwd")
		if cwd.Kind() != store.String {
			cwd = `"/"`
		}
		members = append(members, store.Member{Key: "id", Value: store.Quote(d.Name)}, store.Member{Key: "timestamp", Value: store.Quote(piTime(first))}, store.Member{Key: "cwd", Value: cwd})
	}
	p.value(store.ObjectOf(members...))
	p.put("\n")
}

// piLine writes an entry at its place in the tree.
func (p *printer) piLine(raw store.JSON, id string, parent store.JSON) {
	members := []store.Member{{Key: "type", Value: raw.Get("type")}, {Key: "id", Value: store.Quote(id)}, {Key: "parentId", Value: parent}}
	for key, v := range raw.Members() {
		switch key {
		case "type", "id", "parentId":
		default:
			members = append(members, store.Member{Key: key, Value: v})
		}
	}
	p.value(store.ObjectOf(members...))
	p.put("\n")
}

// piTime is when a node was written, or the beginning of time.
func piTime(data store.JSON) string {
	for _, v := range []store.JSON{data.Get("ts"), data.At("raw", "timestamp")} {
		if s, ok := v.Text(); ok {
			if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
				return t.UTC().Format("2006-01-02T15:04:05.000Z")
			}
		}
	}
	return "1970-01-01T00:00:00.000Z"
}

// piOrder is the order of the entries: as they were written, as far as that is known
// and leaves parents before their children. The last one is where pi goes on.
func (p *printer) piOrder(header int) []int {
	d := p.doc
	at := make([]string, len(d.Items))
	order := make([]int, 0, len(d.Items))
	for i := range d.Items {
		it := &d.Items[i]
		if it.Node != nil {
			at[i] = piTime(it.Node.Data)
		}
		if it.Parent >= 0 && at[i] < at[it.Parent] {
			at[i] = at[it.Parent]
		}
		if i != header {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(at[a], at[b]) })
	for n, i := range order {
		if it := &d.Items[i]; it.Node == nil || it.Node.Data.Get("head") != "true" || n == len(order)-1 {
			continue
		}
		if !d.Items[i].Leaf {
			p.warn("the active head %s has something below it: pi goes on from the last entry instead", term.SanitiseN(d.Items[i].ID, maxLabel))
			break
		}
		order = append(slices.Delete(order, n, n+1), i)
		break
	}
	return order
}
