// Package codex reads the rollout files of the Codex CLI. Their items have neither
// ids nor parents: a file is a chain. Where a thread was rolled back the chain goes on
// from an earlier item, which makes a tree of it again.
package codex

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// Kind is the kind of these sessions.
const Kind = "codex"

// Format is the format, for a reader of lines.
func Format() *foreign.LineFormat {
	return &foreign.LineFormat{Name: "codex", Sniff: sniff, Head: head, New: func(string) foreign.LineScanner { return newScanner() }, Record: isRecord}
}

func text(j store.JSON, path ...string) string { return foreign.TextAt(j, path...) }

// items are what a conversation is made of. In the oldest files they have no wrapper.
var items = []string{"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call", "web_search_call", "compaction"}

var wrappers = []string{"session_meta", "response_item", "event_msg", "turn_context", "compacted"}

func isRecord(j store.JSON) bool {
	t := text(j, "type")
	return slices.Contains(wrappers, t) && j.Get("payload").Kind() == store.Object || slices.Contains(items, t) && text(j, "id") != "text"
}

func sniff(first []store.JSON) bool {
	for i, j := range first {
		t := text(j, "type")
		switch {
		case j.Get("payload").Kind() == store.Object && text(j, "timestamp") != "" && slices.Contains(wrappers, t):
			return true
		case i == 0 && t == "" && text(j, "id") != "" && text(j, "timestamp") != "" && !j.Get("instructions").IsNull():
			return true // the first release
		}
	}
	return false
}

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: Kind}
	s := newScanner()
	for i, j := range first {
		s.Add(j, foreign.Place{Line: int64(i + 1)}, 0)
	}
	if s.header != nil {
		h.ID, h.Project, h.Parent = s.header.ID, s.cwd, s.from
	}
	h.Title = s.title()
	return h
}

// scanner takes the lines of one file.
type scanner struct {
	header *foreign.Record
	cwd    string
	from   string // the thread that it was forked from or works for
	recs   []foreign.Record
	r      foreign.Report
	parent []int // by record: the one before it, or -1
	turns  []bool
	tip    int
	named  string
	prompt string
}

func newScanner() *scanner { return &scanner{tip: -1} }

// Add implements foreign.LineScanner.
func (s *scanner) Add(j store.JSON, at foreign.Place, size int64) {
	if j == "" {
		s.keep(foreign.Record{Kind: "line", Title: fmt.Sprintf("%d MB, not loaded", size>>20), Flags: foreign.TooLong, Sum: uint64(at.Offset)}, at, false)
		return
	}
	kind, payload := text(j, "type"), j.Get("payload")
	when := foreign.Time(j.Get("timestamp"))
	switch {
	case kind == "session_meta":
		s.meta(payload, at, when)
		return
	case kind == "" && text(j, "id") != "" && s.header == nil && len(s.recs) == 0:
		s.meta(j, at, when)
		return
	case kind == "event_msg":
		s.event(payload)
		return
	case kind == "response_item" || kind == "compacted":
	case slices.Contains(items, kind) && payload.IsNull():
		payload = j
	default: // turn_context, the state of the first release, what is yet to come
		if kind == "" {
			kind = "without a type"
		}
		s.r.Other(kind)
		return
	}
	rec := foreign.Record{Kind: text(payload, "type"), Time: when, Sum: foreign.SumOf(string(j))}
	if kind == "compacted" {
		rec.Kind, rec.Role = "compacted", "system"
		rec.Title = foreign.Title("compacted: " + text(payload, "message"))
	} else {
		describe(&rec, payload)
	}
	turn := rec.Flags&foreign.Prompt != 0
	if turn && s.prompt == "" {
		s.prompt = rec.Title
	}
	s.keep(rec, at, turn)
}

// keep appends a node to the tip.
func (s *scanner) keep(rec foreign.Record, at foreign.Place, turn bool) {
	rec.ID, rec.Place = fmt.Sprintf("line-%d", at.Line), at
	if at.Part > 0 {
		rec.ID += fmt.Sprintf(".%d", at.Part)
	}
	if rec.Title == "" {
		rec.Title = foreign.Fallback(rec.Kind, rec.ID)
	}
	if s.tip >= 0 {
		rec.Parent = &s.recs[s.tip].ID
	}
	s.parent = append(s.parent, s.tip)
	s.turns = append(s.turns, turn)
	s.tip = len(s.recs)
	s.recs = append(s.recs, rec)
}

// meta takes the first line. A file that was forked holds its source's as well.
func (s *scanner) meta(m store.JSON, at foreign.Place, when float64) {
	if s.header != nil {
		s.r.Other("session_meta")
		return
	}
	s.cwd = text(m, "cwd")
	s.from = text(m, "forked_from_id")
	if s.from == "" {
		s.from = text(m, "parent_thread_id")
	}
	s.header = &foreign.Record{ID: text(m, "id"), Kind: "session", Title: foreign.Title(s.cwd), Place: at, Time: when}
}

// event takes what happened to the thread; the messages among them are items as well.
func (s *scanner) event(m store.JSON) {
	switch kind := text(m, "type"); kind {
	case "thread_rolled_back":
		n, _ := m.Get("num_turns").Int64()
		for at := s.tip; n > 0 && at >= 0; at = s.parent[at] {
			if s.turns[at] {
				n--
				s.tip = s.parent[at]
			}
		}
		s.r.Other(kind)
	case "thread_name_updated":
		for _, key := range []string{"thread_name", "name"} {
			if name := text(m, key); name != "" {
				s.named = foreign.Title(name)
			}
		}
		s.r.Other(kind)
	case "token_count":
		total := m.At("info", "total_token_usage")
		t := &s.r.Totals // they are sums already: the last counts
		for key, n := range map[string]*int64{"input_tokens": &t.Input, "output_tokens": &t.Output, "cached_input_tokens": &t.CacheRead} {
			if v, ok := total.Get(key).Int64(); ok {
				*n = v
			}
		}
		s.r.Other(kind)
	case "":
		s.r.Other("event_msg")
	default:
		s.r.Other(kind)
	}
}

func (s *scanner) title() string {
	if s.named != "" {
		return s.named
	}
	return s.prompt
}

// Scan implements foreign.LineScanner.
func (s *scanner) Scan() *foreign.Scan {
	out := &foreign.Scan{Records: s.recs[:len(s.recs):len(s.recs)], Source: "codex", Title: s.title(), Active: s.tip, Report: s.r}
	if s.header != nil {
		h := *s.header
		if out.Title != "" {
			h.Title = out.Title
		}
		out.Header = &h
	}
	if s.from != "" {
		out.Facts = []store.Member{{Key: "from_session", Value: store.Quote(s.from)}}
	}
	return out
}

// describe sets what lists show of an item.
func describe(rec *foreign.Record, m store.JSON) {
	switch rec.Kind {
	case "message":
		rec.Kind, rec.Role = text(m, "role"), text(m, "role")
		said := content(m.Get("content"))
		rec.Title = foreign.Title(said)
		switch {
		case rec.Role == "developer" || rec.Role == "system":
			rec.Role, rec.Flags = "system", foreign.Quiet
		case rec.Role == "user" && provided(said):
			rec.Flags = foreign.Quiet
		case rec.Role == "user":
			rec.Flags = foreign.Prompt
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
	case "function_call", "custom_tool_call", "local_shell_call":
		rec.Role = "assistant"
		rec.Title = foreign.Title(strings.TrimSpace(text(m, "name") + ": " + argument(m)))
	case "function_call_output", "custom_tool_call_output":
		rec.Role = "tool"
		out, code := output(m.Get("output"))
		rec.Title = "→ " + foreign.Title(out)
		if code != 0 {
			rec.Flags = foreign.Failed
		}
	}
}

// content is what was said: the blocks have types of their own here.
func content(j store.JSON) string {
	if s, ok := j.Text(); ok {
		return s
	}
	var parts []string
	for b := range j.Elements() {
		if s := text(b, "text"); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// provided reports whether the program itself put a message into the person's mouth.
func provided(said string) bool {
	said = strings.TrimSpace(said)
	for _, p := range []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<permissions"} {
		if strings.HasPrefix(said, p) {
			return true
		}
	}
	return said == ""
}

// argument is what says most about a call: its command, or its input.
func argument(m store.JSON) string {
	if s := text(m, "input"); s != "" {
		return s
	}
	args := m.Get("arguments")
	if s, ok := args.Text(); ok { // JSON within JSON
		inner, err := store.ParseJSON(s)
		if err != nil {
			return s
		}
		args = inner
	}
	if args.IsNull() {
		args = m.Get("action")
	}
	for _, key := range []string{"cmd", "command", "path", "query"} {
		v := args.Get(key)
		if s, ok := v.Text(); ok {
			return s
		}
		var words []string
		for w := range v.Elements() {
			s, _ := w.Text()
			words = append(words, s)
		}
		if len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return string(args)
}

// output is what a tool said, which may be JSON within JSON with the exit code beside
// it.
func output(j store.JSON) (said string, code int64) {
	s, ok := j.Text()
	if !ok {
		if said := content(j); said != "" {
			return said, 0
		}
		s = string(j)
	}
	if inner, err := store.ParseJSON(s); err == nil && inner.Kind() == store.Object {
		code, _ := inner.At("metadata", "exit_code").Int64()
		if out := text(inner, "output"); out != "" || code != 0 {
			return out, code
		}
	}
	return s, 0
}
