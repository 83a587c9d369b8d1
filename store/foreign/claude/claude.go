// Package claude reads the transcripts that Claude Code writes. Their format is not
// documented and differs between releases, so every field is optional here.
//
// A transcript is a tree of messages with seams and false forks in it: a compaction
// begins a new root, tools that run at once are stored as siblings, and lines of hooks
// and progress hang beside the conversation. The seams are closed, and forks that no
// person made are marked as such.
package claude

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

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
		Name: "claude-code", Sniff: sniff, Head: head, Record: isRecord, Describe: describe, Chain: true, Called: called, Linked: linked,
		New: func(path string, t *foreign.Tree) foreign.LineScanner { return newScanner(path, t) },
	}
}

func text(j store.JSON, path ...string) string { return foreign.TextAt(j, path...) }

func yes(j store.JSON, key string) bool { return j.Get(key) == "true" }

// treeTypes are the lines that are nodes.
var treeTypes = []string{"user", "assistant", "system", "attachment", "progress"}

// otherTypes are lines that are about the session as a whole.
var otherTypes = []string{"summary", "file-history-snapshot", "queue-operation", "custom-title", "ai-title", "tag", "last-prompt", "agent-name",
	"agent-setting", "mode", "file-history-delta", "permission-mode", "pr-link", "content-replacement", "attribution"}

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
		case text(j, "sessionId") != "" && text(j, "uuid") != "" && j.Get("parentUuid") != "":
			return true // a type that is not known yet
		case (t == "user" || t == "assistant") && text(j, "message", "role") == t:
			return true // an export without any ids
		}
	}
	return false
}

func isRecord(j store.JSON) bool {
	t := text(j, "type")
	if isNode(t, text(j, "uuid"), j.Get("parentUuid"), j.Get("message").Kind() == store.Object) {
		return true
	}
	return slices.Contains(otherTypes, t)
}

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: Kind}
	agent := isAgentFile(path)
	begun := false
	for _, j := range first {
		if !begun && isNode(text(j, "type"), text(j, "uuid"), j.Get("parentUuid"), j.Get("message").Kind() == store.Object) {
			begun = true
			agent = agent || yes(j, "isSidechain") && text(j, "agentId") != ""
			h.Parent = from(path, j, agent)
		}
		if h.Project == "" {
			h.Project = text(j, "cwd")
		}
		if h.Title == "" && text(j, "type") == "user" {
			h.Title, _ = prompt(j)
		}
	}
	if agent {
		h.Kind = AgentKind
		if m, ok := meta(path); ok && m.Description != "" {
			h.Title = foreign.Title(m.Description)
		}
	}
	return h
}

// from is the session that the one in a file works for, was forked from, or goes on
// from, by the first of its lines; "" where it is none's.
func from(path string, first store.JSON, agent bool) string {
	id, session := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), text(first, "sessionId")
	switch forked := text(first, "forkedFrom", "sessionId"); {
	case agent:
		if main, ok := mainOf(path); ok {
			return main
		}
		return session
	case forked != "":
		return forked
	case session != id && uuid.Validate(id) == nil:
		return session // what was copied from it keeps its name
	}
	return ""
}

// called is what the lines at the end of a file name the session.
func called(last []store.JSON) string {
	custom, ai := "", ""
	for _, j := range last {
		switch text(j, "type") {
		case "custom-title":
			custom = foreign.Title(text(j, "customTitle"))
		case "ai-title":
			ai = foreign.Title(text(j, "aiTitle"))
		}
	}
	return cmp.Or(custom, ai)
}

// linked takes the summaries, each of the conversation that a message ends, which mostly is in
// another file of the project: Claude Code writes them at the head of the next session.
func linked(objects []store.JSON) (l foreign.Links) {
	for _, j := range objects {
		if id := text(j, "uuid"); id != "" {
			l.IDs = append(l.IDs, id)
		}
		if leaf, title := text(j, "leafUuid"), foreign.Title(text(j, "summary")); text(j, "type") == "summary" && leaf != "" && title != "" {
			if l.Titles == nil {
				l.Titles = map[string]string{}
			}
			l.Titles[leaf] = title
		}
	}
	return l
}

// isAgentFile reports whether a file is called as those of sub-agents are.
func isAgentFile(path string) bool { return strings.HasPrefix(filepath.Base(path), "agent-") }

// mainOf is the session in whose folder a sub-agent's file is, where it has one.
func mainOf(path string) (session string, ok bool) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i] == "subagents" {
			return parts[i-1], true
		}
	}
	return "", false
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
