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
	"fmt"
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
	return &foreign.LineFormat{Name: "claude-code", Sniff: sniff, Head: head, New: func(path string) foreign.LineScanner { return newScanner(path) }, Record: isRecord}
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

// scanner takes the lines of one file.
type scanner struct {
	path string
	recs []foreign.Record
	r    foreign.Report

	at       map[string]int    // the latest record of a uuid
	tasks    map[string]string // by the prompt of a call that starts a sub-agent: the line it is in
	lastTask string
	lastMain string          // the latest line of the main conversation
	counted  map[string]bool // messages whose usage was counted
	custom   string          // titles, the strongest first
	ai       string
	sums     map[string]string // by the uuid that they are about
	prompt   string            // the first real one
	command  string            // the first command, where there is no prompt
	heads    []int             // records that can be the head, as they came
}

func newScanner(path string) *scanner {
	return &scanner{path: path, at: map[string]int{}, tasks: map[string]string{}, counted: map[string]bool{}, sums: map[string]string{}}
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(j store.JSON, at foreign.Place, size int64) {
	if j == "" {
		rec := foreign.Record{ID: fmt.Sprintf("line-%d", at.Line), Kind: "line", Title: fmt.Sprintf("%d MB, not loaded", size>>20), Place: at, Flags: foreign.TooLong, Sum: uint64(at.Offset)}
		if s.lastMain != "" {
			parent := s.lastMain
			rec.Parent = &parent
		}
		s.keep(rec)
		return
	}
	kind := text(j, "type")
	if !slices.Contains(treeTypes, kind) || text(j, "uuid") == "" && j.Get("message").Kind() != store.Object {
		s.about(kind, j)
		return
	}
	rec := foreign.Record{ID: text(j, "uuid"), Kind: kind, Place: at, Time: foreign.Time(j.Get("timestamp")), Sum: foreign.SumOf(string(j))}
	if rec.ID == "" {
		rec.ID = fmt.Sprintf("line-%d", at.Line)
	}
	if parent := text(j, "parentUuid"); parent != "" {
		rec.Parent = &parent
	}
	describe(&rec, j)
	side := yes(j, "isSidechain") && !strings.HasPrefix(filepath.Base(s.path), "agent-")
	switch {
	case rec.Kind == "system:compact_boundary":
		s.seam(&rec, j)
	case side && rec.Parent == nil:
		s.graft(&rec, j)
	}
	if side {
		rec.Flags |= foreign.Side
	}
	s.usage(j)
	s.keep(rec)
	s.remember(rec, j, side)
}

func (s *scanner) keep(rec foreign.Record) {
	s.at[rec.ID] = len(s.recs)
	s.recs = append(s.recs, rec)
}

// remember notes what later lines may refer to.
func (s *scanner) remember(rec foreign.Record, j store.JSON, side bool) {
	for b := range j.At("message", "content").Elements() {
		if name := text(b, "name"); text(b, "type") == "tool_use" && (name == "Task" || name == "Agent") {
			s.tasks[text(b, "input", "prompt")] = rec.ID
			s.lastTask = rec.ID
		}
	}
	if side {
		return
	}
	if rec.Kind == "user" || rec.Kind == "assistant" || rec.Kind == "tool_result" || strings.HasPrefix(rec.Kind, "compact") || strings.HasPrefix(rec.Kind, "system") {
		s.lastMain = rec.ID
	}
	if title, real := prompt(j); real && rec.Kind == "user" {
		if s.prompt == "" {
			s.prompt = title
		}
	} else if title != "" && s.command == "" && rec.Kind == "user" {
		s.command = title
	}
	if (rec.Kind == "user" || rec.Kind == "assistant" || rec.Kind == "tool_result" || rec.Kind == "compact_summary") && text(j, "teamName") == "" && !yes(j, "isMeta") {
		s.heads = append(s.heads, len(s.recs)-1)
	}
}

// seam hangs the boundary of a compaction on what came before it: the first of
// several that stands earlier in the file.
func (s *scanner) seam(rec *foreign.Record, j store.JSON) {
	if rec.Parent != nil {
		return
	}
	m := j.Get("compactMetadata")
	logical := text(j, "logicalParentUuid")
	candidates := []string{logical}
	last := ""
	for id := range m.At("preservedMessages", "uuids").Elements() {
		last = text(id)
	}
	candidates = append(candidates, last, text(m, "preservedSegment", "tailUuid"), text(m, "preservedSegment", "headUuid"), s.lastMain)
	for _, id := range candidates {
		if _, earlier := s.at[id]; earlier && id != "" && id != rec.ID {
			rec.Parent = &id
			break
		}
	}
	if _, there := s.at[logical]; !there && logical != "" {
		s.r.Orphans++
		s.r.Warn(foreign.Warning{Place: rec.Place, ID: rec.ID, Text: "its logical parent " + logical + " is not there: it goes on from the line before"})
	}
}

// graft hangs a sub-agent's lines on the call that started it.
func (s *scanner) graft(rec *foreign.Record, j store.JSON) {
	parent := s.tasks[foreign.Content(j.At("message", "content"))]
	if parent == "" {
		parent = s.lastTask
	}
	if parent != "" {
		rec.Parent = &parent
	}
}

// usage counts tokens once a message: one may be in several lines.
func (s *scanner) usage(j store.JSON) {
	m := j.Get("message")
	u := m.Get("usage")
	id := text(m, "id")
	if u.Kind() != store.Object || id != "" && s.counted[id] {
		return
	}
	s.counted[id] = id != ""
	t := &s.r.Totals
	t.Messages++
	for key, n := range map[string]*int64{"input_tokens": &t.Input, "output_tokens": &t.Output, "cache_read_input_tokens": &t.CacheRead, "cache_creation_input_tokens": &t.CacheWrite} {
		if v, ok := u.Get(key).Int64(); ok {
			*n += v
		}
	}
	if model := text(m, "model"); model != "" {
		if t.Models == nil {
			t.Models = map[string]int64{}
		}
		t.Models[model]++
	}
}

// about takes a line that is no node.
func (s *scanner) about(kind string, j store.JSON) {
	switch kind {
	case "summary":
		s.sums[text(j, "leafUuid")] = text(j, "summary")
	case "custom-title":
		s.custom = text(j, "customTitle")
	case "ai-title":
		s.ai = text(j, "aiTitle")
	case "":
		kind = "without a type"
	}
	s.r.Other(kind)
}

// Scan implements foreign.LineScanner.
func (s *scanner) Scan() *foreign.Scan {
	heads := s.heads[:len(s.heads):len(s.heads)]
	out := &foreign.Scan{
		Records: s.recs[:len(s.recs):len(s.recs)], Source: "claude-code", Chain: true, Title: s.title(), Active: -1, Report: s.r,
		Mark: func(t *foreign.Tree) int32 { return mark(t, heads) },
	}
	if strings.HasPrefix(filepath.Base(s.path), "agent-") {
		if m, ok := meta(s.path); ok {
			out.Facts = append(out.Facts, store.Member{Key: "agent_type", Value: store.Quote(m.AgentType)}, store.Member{Key: "tool_use_id", Value: store.Quote(m.ToolUseID)})
		}
	}
	return out
}

// title is the session's: what a person called it, what the program did, a summary of
// something in this file, the first prompt.
func (s *scanner) title() string {
	if s.custom != "" {
		return foreign.Title(s.custom)
	}
	if s.ai != "" {
		return foreign.Title(s.ai)
	}
	latest, title := -1, ""
	for id, sum := range s.sums {
		if i, here := s.at[id]; here && i > latest {
			latest, title = i, sum
		}
	}
	switch {
	case title != "":
		return foreign.Title(title)
	case s.prompt != "":
		return s.prompt
	}
	return s.command
}
