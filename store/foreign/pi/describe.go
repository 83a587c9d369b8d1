package pi

import (
	"fmt"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// describe sets what lists show of an entry: its kind, title, role, time and flags.
func describe(rec *foreign.Record, j store.JSON) {
	title := ""
	rec.Kind, rec.Time = text(j, "type"), foreign.Time(j.Get("timestamp"))
	switch rec.Kind {
	case "message", "":
		title = message(rec, j.Get("message"))
	case "compaction":
		title = fmt.Sprintf("compacted (%s): %s", number(j.Get("tokensBefore")), text(j, "summary"))
	case "branch_summary":
		title = "branch summary: " + text(j, "summary")
	case "model_change":
		model := text(j, "modelId")
		if p := text(j, "provider"); p != "" {
			model = p + "/" + model
		}
		if m := text(j, "model"); m != "" {
			model = m
		}
		title = "model → " + model
	case "thinking_level_change":
		title = "thinking → " + text(j, "thinkingLevel")
		rec.Flags |= foreign.Quiet
	case "custom", "custom_message":
		title = text(j, "customType")
		if rec.Kind == "custom" {
			rec.Flags |= foreign.Quiet
		}
	case "label":
		title = "label: " + text(j, "label")
		rec.Flags |= foreign.Quiet
		if text(j, "label") == "" {
			title = "label removed"
		}
	case "session_info":
		title = "name: " + text(j, "name")
		rec.Flags |= foreign.Quiet
	case "title_change":
		title = "name: " + text(j, "title")
		rec.Flags |= foreign.Quiet
	case "mode_change":
		title = "mode → " + text(j, "mode")
		rec.Flags |= foreign.Quiet
	case "session_init":
		title = text(j, "task")
	case "reset_boundary":
		title = "context cleared"
	case "context_edit":
		title = "context edit: " + text(j, "targetId")
		if j.Get("replacement").IsNull() {
			title = "taken out of the context: " + text(j, "targetId")
		}
	case "usage", "model_usage":
		title = strings.TrimSpace("usage " + text(j, "model"))
		rec.Flags |= foreign.Quiet
	case "active_tools_change", "service_tier_change", "ttsr_injection", "credential_pin", "archive":
		rec.Flags |= foreign.Quiet
	}
	rec.Title = foreign.Title(title)
	if rec.Title == "" {
		rec.Title = foreign.Fallback(rec.Kind, rec.ID)
	}
}

// message describes what somebody or something said.
func message(rec *foreign.Record, m store.JSON) string {
	role := text(m, "role")
	said := foreign.Content(m.Get("content"))
	switch role {
	case "user":
		rec.Kind, rec.Role = "user", "user"
	case "assistant":
		rec.Kind, rec.Role = "assistant", "assistant"
		if reason := text(m, "stopReason"); reason == "error" || reason == "aborted" {
			rec.Flags |= foreign.Failed
			if said == "" {
				said = strings.TrimSpace(reason + ": " + text(m, "errorMessage"))
			}
		}
		if said == "" {
			said = call(m.Get("content"))
		}
	case "toolResult":
		rec.Kind, rec.Role = "tool_result", "tool"
		said = text(m, "toolName") + ": " + foreign.Title(said)
		if failed := m.Get("isError"); failed == "true" {
			rec.Flags |= foreign.Failed
			said = "! " + said
		}
	case "bashExecution":
		rec.Kind, rec.Role = "bash", "user"
		said = "$ " + text(m, "command")
		if code, ok := m.Get("exitCode").Int64(); ok && code != 0 {
			rec.Flags |= foreign.Failed
		}
	case "":
		rec.Kind = "message"
	default: // custom, hookMessage, branchSummary, compactionSummary, system
		rec.Kind = role
		if s := text(m, "summary"); said == "" {
			said = s
		}
	}
	return said
}

// call is the first tool call among blocks: its name and its first argument.
func call(blocks store.JSON) string {
	for b := range blocks.Elements() {
		if text(b, "type") != "toolCall" {
			continue
		}
		arg := ""
		for _, v := range b.Get("arguments").Members() {
			if s, ok := v.Text(); ok {
				arg = foreign.Title(s)
			} else {
				arg = foreign.Title(string(v))
			}
			break
		}
		return fmt.Sprintf("%s(%s)", text(b, "name"), arg)
	}
	return ""
}

func number(j store.JSON) string {
	if n, ok := j.Int64(); ok {
		return fmt.Sprint(n)
	}
	return "?"
}
