package codex

import (
	"cmp"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// scanner takes the lines of one file.
type scanner struct {
	tree   *foreign.Tree
	header bool // it was there
	id     string
	cwd    string
	from   string // the thread that it was forked from or works for
	r      foreign.Report
	tip    int32 // what the next item follows; -1: nothing
	named  string
	prompt string

	line, item foreign.Fields
}

func newScanner(t *foreign.Tree) *scanner { return &scanner{tree: t, tip: -1} }

// Add implements foreign.LineScanner.
func (s *scanner) Add(e foreign.Entry) {
	if e.JSON == "" {
		s.keep(e)
		return
	}
	f := &s.line
	f.Of(e.JSON)
	kind, payload := f.Text("type"), f.Get("payload")
	switch {
	case kind == "session_meta":
		s.meta(payload, e)
		return
	case kind == "" && f.Text("id") != "" && !s.header && s.tree.Count() == 0:
		s.meta(e.JSON, e)
		return
	case kind == "event_msg":
		s.event(payload, e.JSON)
		return
	case kind == "turn_context":
		s.r.Totals.Model(text(payload, "model"))
		s.r.Other(kind, e.JSON)
		return
	case kind == "response_item" || kind == "compacted":
	case slices.Contains(items, kind) && payload.IsNull():
	default: // the state of the first release, what is yet to come
		if kind == "" {
			kind = "without a type"
		}
		s.r.Other(kind, e.JSON)
		return
	}
	n := s.keep(e)
	if s.prompt == "" && s.tree.Flags(n)&foreign.Prompt != 0 {
		rec := foreign.Record{}
		describe(&rec, e.JSON)
		s.prompt = rec.Title
	}
}

// keep appends a node to the tip.
func (s *scanner) keep(e foreign.Entry) int32 {
	rec := e.Record(foreign.LineID(e.Place))
	if e.JSON != "" {
		if _, m := itemOf(e.JSON); text(m, "type") == "message" {
			rec.Flags |= spoken(m)
			if text(m, "role") == "assistant" {
				s.r.Totals.Messages++
			}
		}
	}
	if s.tip >= 0 {
		parent := s.tree.ID(s.tip)
		rec.Parent = &parent
	}
	s.tip = s.tree.Add(rec)
	return s.tip
}

// itemOf is the item in a line, and the kind of the line.
func itemOf(j store.JSON) (kind string, item store.JSON) {
	kind = text(j, "type")
	if kind == "response_item" || kind == "compacted" {
		return kind, j.Get("payload")
	}
	return kind, j
}

// meta takes the first line. A file that was forked holds its source's as well.
func (s *scanner) meta(m store.JSON, e foreign.Entry) {
	if s.header {
		s.r.Other("session_meta", e.JSON)
		return
	}
	s.header, s.id, s.cwd = true, text(m, "id"), text(m, "cwd")
	s.from = cmp.Or(text(m, "forked_from_id"), text(m, "parent_thread_id"), text(m, "source", "subagent", "thread_spawn", "parent_thread_id"))
	s.tree.SetHeader(foreign.Record{ID: s.id, Kind: "session", Title: foreign.Title(s.cwd), Place: e.Place, Time: foreign.Time(s.line.Get("timestamp"))})
}

// event takes what happened to the thread; the messages among them are items as well.
func (s *scanner) event(m, j store.JSON) {
	switch kind := text(m, "type"); kind {
	case "thread_rolled_back":
		n, _ := m.Get("num_turns").Int64()
		for at := s.tip; n > 0 && at > 0; {
			p, ok := s.tree.Parent(at)
			if !ok || p == s.tree.Root() && s.header {
				p = -1
			}
			if s.tree.Flags(at)&foreign.Prompt != 0 {
				n--
				s.tip = p
			}
			at = p
		}
		s.r.Other(kind, j)
	case "thread_name_updated":
		s.named = cmp.Or(threadName(m), s.named)
		s.r.Other(kind, j)
	case "token_count":
		total := m.At("info", "total_token_usage")
		t := &s.r.Totals // they are sums already: the last counts
		for _, c := range []struct {
			key string
			n   *int64
		}{{"input_tokens", &t.Input}, {"output_tokens", &t.Output}, {"cached_input_tokens", &t.CacheRead}} {
			if v, ok := total.Get(c.key).Int64(); ok {
				*c.n = v
			}
		}
		s.r.Other(kind, j)
	case "":
		s.r.Other("event_msg", j)
	default:
		s.r.Other(kind, j)
	}
}

func (s *scanner) title() string {
	if s.named != "" {
		return s.named
	}
	return s.prompt
}

// About implements foreign.LineScanner.
func (s *scanner) About() foreign.About {
	a := foreign.About{Title: s.title(), Active: s.tip, Report: s.r}
	if s.from != "" {
		a.Facts = []store.Member{{Key: "from_session", Value: store.Quote(s.from)}}
	}
	return a
}

// describe sets what lists show of an item.
func describe(rec *foreign.Record, j store.JSON) {
	kind, m := itemOf(j)
	rec.Kind, rec.Time = text(m, "type"), foreign.Time(j.Get("timestamp"))
	if kind == "compacted" {
		rec.Kind, rec.Role = "compacted", "system"
		rec.Title = foreign.Title("compacted: " + text(m, "message"))
	} else {
		item(rec, m)
	}
	if rec.Title == "" {
		rec.Title = foreign.Fallback(rec.Kind, rec.ID)
	}
}

// spoken are the flags of a message.
func spoken(m store.JSON) foreign.Flags {
	switch role := text(m, "role"); {
	case role == "developer", role == "system", role == "user" && provided(content(m.Get("content"))):
		return foreign.Quiet
	case role == "user":
		return foreign.Prompt
	}
	return 0
}

func item(rec *foreign.Record, m store.JSON) {
	switch rec.Kind {
	case "message":
		rec.Kind, rec.Role = text(m, "role"), text(m, "role")
		rec.Title = foreign.Title(content(m.Get("content")))
		rec.Flags |= spoken(m)
		if rec.Role == "developer" {
			rec.Role = "system"
		}
	case "reasoning":
		rec.Role = "assistant"
		for b := range m.Get("summary").Elements() {
			rec.Title = foreign.Title(text(b, "text"))
			break
		}
		if rec.Title == "" {
			rec.Title = "thinking"
		}
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		rec.Role = "assistant"
		name := cmp.Or(text(m, "name"), map[string]string{"local_shell_call": "shell", "web_search_call": "web search"}[rec.Kind])
		rec.Title = foreign.Title(strings.Trim(name+": "+foreign.Title(argument(m)), ": "))
	case "function_call_output", "custom_tool_call_output":
		rec.Role = "tool"
		out, code := output(m.Get("output"))
		rec.Title = "→ " + foreign.Title(out)
		if code != 0 {
			rec.Flags |= foreign.Failed
		}
	}
}
