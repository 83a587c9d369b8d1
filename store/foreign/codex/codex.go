// Package codex reads the rollout files of the Codex CLI. Their items have neither
// ids nor parents: a file is a chain. Where a thread was rolled back the chain goes on
// from an earlier item, which makes a tree of it again.
package codex

import (
	"cmp"
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
	return &foreign.LineFormat{
		Name: "codex", Sniff: sniff, Head: head, Record: isRecord, Describe: describe, Called: called,
		New: func(_ string, t *foreign.Tree) foreign.LineScanner { return newScanner(t) },
	}
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
		case i == 0 && t == "" && text(j, "id") != "" && text(j, "timestamp") != "" && (j.Get("instructions") != "" || j.Get("git") != ""):
			return true // the first release
		case t == "message" && text(j, "role") != "" && isSpoken(j.Get("content")):
			return true // and its items, whatever came before them
		}
	}
	return false
}

// isSpoken reports whether a content has the blocks of these messages.
func isSpoken(content store.JSON) bool {
	for b := range content.Elements() {
		if t := text(b, "type"); t == "input_text" || t == "output_text" {
			return true
		}
	}
	return false
}

// called is what the events at the end of a file name the thread.
func called(last []store.JSON) (name string) {
	for _, j := range last {
		if m := j.Get("payload"); text(m, "type") == "thread_name_updated" {
			name = cmp.Or(threadName(m), name)
		}
	}
	return name
}

func threadName(m store.JSON) string {
	return foreign.Title(cmp.Or(text(m, "thread_name"), text(m, "name")))
}

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: Kind}
	s := newScanner(foreign.NewTree(foreign.BuildOptions{Described: true}))
	for i, j := range first {
		s.Add(foreign.Entry{JSON: j, Place: foreign.Place{Line: int64(i + 1)}})
	}
	if s.header {
		h.ID, h.Project, h.Parent = s.id, s.cwd, s.from
	}
	h.Title = s.title()
	return h
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
