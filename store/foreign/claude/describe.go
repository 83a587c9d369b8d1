package claude

import (
	"fmt"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// describe sets what lists show of a line.
func describe(rec *foreign.Record, j store.JSON) {
	title := ""
	m := j.Get("message")
	content := m.Get("content")
	switch rec.Kind {
	case "user":
		rec.Role = "user"
		if result, ok := block(content, "tool_result"); ok {
			rec.Kind, rec.Role = "tool_result", "tool"
			title = "→ " + foreign.Title(foreign.Content(result.Get("content")))
			if yes(result, "is_error") {
				rec.Flags |= foreign.Failed
			}
			break
		}
		title = foreign.Content(content)
		if _, image := block(content, "image"); image && title == "" {
			title = "an image"
		}
		switch {
		case yes(j, "isCompactSummary"):
			rec.Kind, rec.Role = "compact_summary", "system"
		case yes(j, "isMeta"):
			rec.Flags |= foreign.Quiet
		default:
			if _, real := prompt(j); real {
				rec.Flags |= foreign.Prompt
			}
		}
	case "assistant":
		rec.Role = "assistant"
		title = foreign.Content(content)
		if title == "" {
			if call, ok := block(content, "tool_use"); ok {
				title = toolCall(call)
			} else if _, ok := block(content, "thinking"); ok {
				title = "thinking"
			}
		}
		if yes(j, "isApiErrorMessage") {
			rec.Flags |= foreign.Failed
		}
	case "system":
		rec.Role = "system"
		subtype := text(j, "subtype")
		if subtype != "" {
			rec.Kind = "system:" + subtype
		}
		if subtype == "compact_boundary" {
			m := j.Get("compactMetadata")
			title = fmt.Sprintf("compacted (%s, %s)", or(text(m, "trigger"), "?"), or(string(m.Get("preTokens")), "?"))
			break
		}
		title = strings.TrimSpace(subtype + " " + text(j, "content"))
		if text(j, "level") == "error" || subtype == "api_error" {
			rec.Flags |= foreign.Failed
		} else {
			rec.Flags |= foreign.Quiet
		}
	case "attachment", "progress":
		rec.Flags |= foreign.Quiet
		title = or(text(j, "attachment", "type"), or(text(j, "data", "type"), rec.Kind))
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
var notAsked = []string{"<local-command-stdout>", "<local-command-caveat>", "<ide_opened_file>", "<system-reminder>", "[Request interrupted"}

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
	if name, ok := strings.CutPrefix(said, "<command-name>"); ok {
		name, _, _ = strings.Cut(name, "</command-name>")
		return foreign.Title("/" + strings.TrimPrefix(name, "/")), false
	}
	for _, p := range notAsked {
		if strings.HasPrefix(said, p) {
			return "", false
		}
	}
	if strings.HasPrefix(said, "<command-message>") {
		return "", false
	}
	return foreign.Title(said), said != ""
}
