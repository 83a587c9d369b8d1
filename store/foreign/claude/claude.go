// Package claude reads the transcripts that Claude Code writes. Their format is not
// documented and differs between releases, so every field is optional here.
//
// A transcript is a tree of messages with seams and false forks in it: a compaction
// begins a new root, tools that run at once are stored as siblings, and lines of hooks
// and progress hang beside the conversation. The seams are closed, and forks that no
// person made are marked as such.
package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// The kinds of these sessions: conversations, and those of sub-agents.
const (
	Kind      = "claude-code"
	AgentKind = "claude-agent"
)

// Format is the format, for a reader of lines.
func Format() *foreign.LineFormat {
	return &foreign.LineFormat{
		Name: "claude-code", Sniff: sniff, Head: head, Record: isRecord, Describe: describe, Chain: true,
		New: func(path string, t *foreign.Tree) foreign.LineScanner { return newScanner(path, t) },
	}
}

func text(j store.JSON, path ...string) string { return foreign.TextAt(j, path...) }

func yes(j store.JSON, key string) bool { return j.Get(key) == "true" }

// treeTypes are the lines that are nodes.
var treeTypes = []string{"user", "assistant", "system", "attachment", "progress"}

// otherTypes are lines that are about the session as a whole.
var otherTypes = []string{"summary", "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "tag", "last-prompt", "agent-name",
	"agent-setting", "mode", "permission-mode", "pr-link", "content-replacement", "attribution"}

func sniff(first []store.JSON) bool {
	for _, j := range first {
		if text(j, "sessionId") != "" && text(j, "projectHash") != "" {
			return false // another program's
		}
		t := text(j, "type")
		message := j.Get("message").Kind() == store.Object
		switch {
		case text(j, "uuid") != "" && slices.Contains(treeTypes, t) && (message || t != "user" && t != "assistant"):
			return true
		case text(j, "sessionId") != "" && (message && slices.Contains(treeTypes, t) || slices.Contains(otherTypes, t)):
			return true
		case t == "summary" && text(j, "leafUuid") != "", t == "file-history-snapshot":
			return true
		}
	}
	return false
}

func isRecord(j store.JSON) bool {
	t := text(j, "type")
	if slices.Contains(treeTypes, t) {
		return text(j, "uuid") != "" || j.Get("message").Kind() == store.Object
	}
	return slices.Contains(otherTypes, t)
}

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: Kind}
	if strings.HasPrefix(h.ID, "agent-") {
		h.Kind = AgentKind
	}
	for _, j := range first {
		if h.Project == "" {
			h.Project = text(j, "cwd")
		}
		if id := text(j, "sessionId"); h.Kind == AgentKind && h.Parent == "" {
			h.Parent = id
		}
		if h.Title == "" && text(j, "type") == "user" {
			h.Title, _ = prompt(j)
		}
	}
	if h.Kind == AgentKind {
		if m, ok := meta(path); ok && m.Description != "" {
			h.Title = foreign.Title(m.Description)
		}
	}
	return h
}

// agentMeta is what stands beside a sub-agent's file.
type agentMeta struct {
	AgentType   string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
}

func meta(path string) (m agentMeta, ok bool) {
	b, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
	if err != nil || json.Unmarshal(b, &m) != nil {
		return agentMeta{}, false // older releases write none
	}
	return m, true
}
