package export

import (
	"strconv"

	"treering/store"
)

// json writes one strict object: a node or an execution a line, so that two exports
// can be compared line by line.
func (p *printer) json() {
	d := p.doc
	if d.Subject == Session {
		p.put(`{"session_id":`, quoted(d.Name), `,"kind":`, quoted(d.Session.Kind), `,"expires_at":`, number(d.Session.ExpiresAt),
			`,"left_out":`, strconv.Itoa(d.LeftOut), `,"nodes":[`)
		first := true
		for i := range d.Items {
			if it := &d.Items[i]; it.Node != nil {
				p.separate(&first)
				p.node(it)
			}
		}
	} else {
		p.put(`{"execution_id":`, quoted(d.Name), `,"executions":[`)
		first := true
		for i := range d.Items {
			p.separate(&first)
			p.member(d.Items[i].Member)
		}
	}
	p.put("\n]}\n")
}

func (p *printer) separate(first *bool) {
	if !*first {
		p.put(",")
	}
	*first = false
	p.put("\n")
}

func (p *printer) node(it *Item) {
	n := it.Node
	p.put(`{"id":`, quoted(n.ID), `,"parent_id":`, optional(n.ParentID), `,"kind":`, quoted(n.Kind), `,"data":`)
	data := n.Data
	if p.o.WithoutData {
		data = ""
	}
	nonFinite := p.value(data)
	if len(it.Labels) > 0 {
		p.put(`,"labels":[`)
		for i, l := range it.Labels {
			if i > 0 {
				p.put(",")
			}
			p.put(quoted(l))
		}
		p.put("]")
	}
	if nonFinite {
		p.put(`,"non_json":true`)
	}
	p.put("}")
}

func (p *printer) member(m *Member) {
	s := m.Summary
	p.put(`{"id":`, quoted(s.ID), `,"definition_id":`, quoted(s.DefinitionID), `,"status":`)
	if s.Status == "" {
		p.put("null")
	} else {
		p.put(quoted(string(s.Status)))
	}
	p.put(`,"version":`, strconv.FormatInt(s.Version, 10), `,"parent_id":`, optional(s.ParentID), `,"active_path":`, optional(s.ActivePath))
	nonFinite := false
	if s.Bad != nil {
		p.put(`,"row_error":`, quoted(s.Bad.Err.Error()))
	}
	if len(s.Drift) > 0 {
		p.put(`,"drift":[`)
		for i, d := range s.Drift {
			if i > 0 {
				p.put(",")
			}
			p.put(`{"column":`, quoted(d.Column), `,"stored":`, quoted(d.Stored), `,"json":`, quoted(d.JSON), `}`)
		}
		p.put("]")
	}
	p.put(`,"execution":`)
	var blob store.JSON
	if m.Exe != nil && !p.o.WithoutData {
		// What was read can be written again; what cannot is null, as what was not read.
		if text, err := m.Exe.Encode(m.Exe.Version); err == nil {
			blob = store.JSON(text)
		} else {
			p.warn("%s: %v", s.ID, err)
		}
	}
	nonFinite = p.value(blob)
	p.put(`,"trace":[`)
	for i, t := range m.Trace {
		if i > 0 {
			p.put(",")
		}
		p.put(`{"index":`, strconv.FormatInt(t.Index, 10), `,"entry":`)
		if p.o.WithoutData {
			p.put("null")
		} else {
			nonFinite = p.value(t.Entry) || nonFinite
		}
		p.bad(t.Bad)
		p.put("}")
	}
	p.put(`],"outbox":[`)
	for i, e := range m.Outbox {
		if i > 0 {
			p.put(",")
		}
		p.put(`{"seq":`, strconv.FormatInt(e.Seq, 10), `,"target_id":`, optional(e.TargetID), `,"event":`)
		if p.o.WithoutData {
			p.put("null")
		} else {
			nonFinite = p.value(e.Raw) || nonFinite
		}
		p.bad(e.Bad)
		p.put("}")
	}
	p.put(`],"spawns":[`)
	for i, e := range m.Spawns {
		if i > 0 {
			p.put(",")
		}
		p.put(`{"seq":`, strconv.FormatInt(e.Seq, 10), `,"child_id":`, quoted(e.ChildID), `,"root_path":`, quoted(e.RootPath), `,"context":`)
		if p.o.WithoutData {
			p.put("null")
		} else {
			nonFinite = p.value(e.Context) || nonFinite
		}
		p.bad(e.Bad)
		p.put("}")
	}
	p.put(`],"timers":[`)
	for i, t := range m.Timers {
		if i > 0 {
			p.put(",")
		}
		p.put(`{"path":`, quoted(t.Path), `,"fire_at":`)
		nonFinite = p.value(store.JSON(store.FormatFireAt(t.FireAt))) || nonFinite
		p.bad(t.Bad)
		p.put("}")
	}
	p.put("]")
	if nonFinite {
		p.put(`,"non_json":true`)
	}
	p.put("}")
}

func (p *printer) bad(e *store.RowError) {
	if e != nil {
		p.put(`,"row_error":`, quoted(e.Err.Error()))
	}
}

// value writes a value as strict JSON and says whether a number in it is none.
func (p *printer) value(j store.JSON) (nonFinite bool) {
	text, nonFinite := store.Strict(j)
	p.put(string(text))
	return nonFinite
}

func quoted(s string) string { return string(store.EscapeControls(store.Quote(s))) }

func optional(s *string) string {
	if s == nil {
		return "null"
	}
	return quoted(*s)
}

func number(f *float64) string {
	if f == nil {
		return "null"
	}
	return store.FormatFireAt(*f)
}
