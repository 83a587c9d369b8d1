package claude

import (
	"fmt"
	"strings"
	"time"

	"treering/store"
	"treering/store/foreign"
)

// looks is what the kind of a line is, and what goes with it.
type looks struct {
	kind, role string
	flags      foreign.Flags
}

// looksOf tells what a line is: f are its members.
func looksOf(kind string, f *foreign.Fields, content store.JSON) looks {
	l := looks{kind: kind}
	switch kind {
	case "user":
		l.role = "user"
		if result, ok := block(content, "tool_result"); ok {
			l.kind, l.role = "tool_result", "tool"
			if yes(result, "is_error") {
				l.flags |= foreign.Failed
			}
			break
		}
		switch {
		case f.Get("isCompactSummary") == "true":
			l.kind, l.role = "compact_summary", "system"
		case f.Get("isMeta") == "true":
			l.flags |= foreign.Quiet
		case asked(content):
			l.flags |= foreign.Prompt
		}
	case "assistant":
		l.role = "assistant"
		if f.Get("isApiErrorMessage") == "true" {
			l.flags |= foreign.Failed
		}
	case "system":
		l.role = "system"
		subtype := f.Text("subtype")
		if subtype != "" {
			l.kind = "system:" + subtype
		}
		switch {
		case subtype == "compact_boundary":
			l.flags |= foreign.Seam
		case f.Text("level") == "error" || subtype == "api_error":
			l.flags |= foreign.Failed
		default:
			l.flags |= foreign.Quiet
		}
	case "attachment", "progress":
		l.flags |= foreign.Quiet
	}
	return l
}

// describe sets what lists show of a line.
func describe(rec *foreign.Record, j store.JSON) {
	var f foreign.Fields
	f.Of(j)
	content := f.Get("message").Get("content")
	l := looksOf(text(j, "type"), &f, content)
	rec.Kind, rec.Role, rec.Time = strings.Clone(l.kind), l.role, foreign.Time(f.Get("timestamp"))
	rec.Flags |= l.flags
	title := ""
	switch {
	case l.kind == "tool_result":
		result, _ := block(content, "tool_result")
		title = "→ " + foreign.Title(foreign.Content(result.Get("content")))
	case l.role == "user", l.kind == "compact_summary":
		title = plain(foreign.Content(content))
		if _, image := block(content, "image"); image && title == "" {
			title = "an image"
		}
	case l.role == "assistant":
		title = foreign.Content(content)
		if title == "" {
			if call, ok := block(content, "tool_use"); ok {
				title = toolCall(call)
			} else if _, ok := block(content, "thinking"); ok {
				title = "thinking"
			}
		}
	case l.kind == "system:compact_boundary":
		m := f.Get("compactMetadata")
		title = fmt.Sprintf("compacted (%s, %s)", or(text(m, "trigger"), "?"), or(string(m.Get("preTokens")), "?"))
	case l.role == "system":
		title = strings.TrimSpace(f.Text("subtype") + " " + plain(f.Text("content")))
		if ms, ok := f.Get("durationMs").Float64(); ok && ms >= 0 && ms < 1e12 {
			title += " " + time.Duration(ms*1e6).Round(100*time.Millisecond).String()
		}
	case foreign.Content(content) != "":
		title = foreign.Content(content) // of a type that is not known
	default:
		title = or(text(f.Get("attachment"), "type"), or(text(f.Get("data"), "type"), rec.Kind))
	}
	rec.Title = foreign.Title(title)
	if rec.Title == "" {
		rec.Title = foreign.Fallback(rec.Kind, rec.ID)
	}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// block is the first block of a kind.
func block(content store.JSON, kind string) (store.JSON, bool) {
	if content.Kind() != store.Array {
		return "", false
	}
	for b := range content.Elements() {
		if text(b, "type") == kind {
			return b, true
		}
	}
	return "", false
}

// toolCall names a call by what says most of its input.
func toolCall(b store.JSON) string {
	in := b.Get("input")
	for _, key := range []string{"description", "command", "file_path", "pattern", "query", "prompt", "url"} {
		if s := text(in, key); s != "" {
			return text(b, "name") + ": " + foreign.Title(s)
		}
	}
	return text(b, "name")
}

// notAsked begin what the program puts into a person's mouth.
var notAsked = []string{"<local-command-stdout>", "<bash-stdout>", "<bash-stderr>", "<local-command-caveat>", "<ide_opened_file>", "<system-reminder>", "[Request interrupted"}

// asked reports whether a content is what a person asked.
func asked(content store.JSON) bool {
	said := strings.TrimSpace(foreign.Content(content))
	for _, p := range notAsked {
		if strings.HasPrefix(said, p) {
			return false
		}
	}
	return said != "" && !strings.HasPrefix(said, "<command-name>") && !strings.HasPrefix(said, "<command-message>")
}

// plain is a text without the marks that the program puts around commands and what they say. A
// command is shown as a person types it.
func plain(said string) string {
	trimmed := strings.TrimSpace(said)
	switch {
	case strings.HasPrefix(trimmed, "<command-"):
		return command(said)
	case strings.HasPrefix(trimmed, "<bash-input>"):
		return "! " + within(trimmed, "bash-input")
	case strings.HasPrefix(trimmed, "<bash-stdout>"), strings.HasPrefix(trimmed, "<bash-stderr>"):
		return "→ " + strings.TrimSpace(within(trimmed, "bash-stdout")+"\n"+within(trimmed, "bash-stderr"))
	case strings.HasPrefix(trimmed, "<local-command-stdout>"):
		return "→ " + within(trimmed, "local-command-stdout")
	}
	return said
}

// within is what stands between the marks of a tag, or behind the first one where the text was cut.
func within(said, tag string) string {
	_, rest, _ := strings.Cut(said, "<"+tag+">")
	text, _, _ := strings.Cut(rest, "</"+tag+">")
	return strings.TrimSpace(text)
}

// command is a command of the program's own as a person types it, or the text where it
// names none.
func command(said string) string {
	name := strings.TrimPrefix(within(said, "command-name"), "/")
	if name == "" {
		return said
	}
	return strings.TrimSpace("/" + name + " " + within(said, "command-args"))
}

// prompt is what a person asked in a line, and whether it is really that: a command of
// the program's own is named, but is none.
func prompt(j store.JSON) (title string, real bool) {
	if yes(j, "isMeta") || yes(j, "isCompactSummary") {
		return "", false
	}
	content := j.At("message", "content")
	if _, result := block(content, "tool_result"); result {
		return "", false
	}
	said := strings.TrimSpace(foreign.Content(content))
	if strings.HasPrefix(said, "<command-") || strings.HasPrefix(said, "<bash-input>") {
		if named := plain(said); named != said {
			return foreign.Title(named), false
		}
	}
	if !asked(content) {
		return "", false
	}
	return foreign.Title(said), true
}
