package claude

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// scanner takes the lines of one file.
type scanner struct {
	path  string
	agent bool   // the file is a sub-agent's
	from  string // the session that it works for, or was forked from
	cut   bool   // there was a compaction
	tree  *foreign.Tree
	r     foreign.Report
	marks marks

	tasks    map[uint64]int32 // by the prompt of a call that starts a sub-agent: the line it is in
	seed     maphash.Seed
	lastTask int32             // -1: none
	lastMain int32             // the latest line of the main conversation; -1: none
	counted  map[uint64]tokens // of the messages whose usage was counted
	custom   string            // titles, the strongest first
	ai       string
	sums     map[string]string // by the uuid that they are about
	prompt   string            // the first real one
	command  string            // the first command, where there is no prompt
	missing  []missing         // logical parents that did not stand before their children

	line, message, usage foreign.Fields
}

// missing is a parent that was not there when it was named.
type missing struct {
	id      string
	warning foreign.Warning
}

// tokens are those of a message: read, written, and both of the cache.
type tokens [4]int64

func (t tokens) most(o tokens) tokens {
	for i := range t {
		t[i] = max(t[i], o[i])
	}
	return t
}

// synthetic is the model of a message that the program itself wrote: it spent nothing.
const synthetic = "<synthetic>"

func newScanner(path string, t *foreign.Tree) *scanner {
	return &scanner{
		path: path, agent: isAgentFile(path), tree: t, marks: newMarks(t), seed: maphash.MakeSeed(),
		tasks: map[uint64]int32{}, lastTask: -1, lastMain: -1, counted: map[uint64]tokens{}, sums: map[string]string{},
	}
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(e foreign.Entry) {
	f := &s.line
	if e.JSON == "" {
		f.Of(e.Known)
		id := f.Text("uuid")
		parent := f.Text("parentUuid")
		if id == "" {
			id = foreign.LineID(e.Place)
			if s.lastMain >= 0 {
				parent = s.tree.ID(s.lastMain)
			}
		}
		rec := e.Record(id)
		if parent != "" {
			rec.Parent = &parent
		}
		s.marks.added(s.tree.Add(rec), none, 0)
		return
	}
	f.Of(e.JSON)
	kind, id := f.Text("type"), f.Text("uuid")
	message := f.Get("message")
	said := message.Kind() == store.Object
	if !isNode(kind, id, f.Get("parentUuid"), said) {
		s.about(kind, e.JSON)
		return
	}
	if id == "" {
		id = foreign.LineID(e.Place)
	}
	rec := e.Record(id)
	if parent := f.Text("parentUuid"); parent != "" {
		rec.Parent = &parent
	}
	var content store.JSON
	if said {
		s.message.Of(message)
		content = s.message.Get("content")
	}
	l := looksOf(kind, f, content)
	rec.Flags |= l.flags
	inSide := f.Get("isSidechain") == "true"
	if s.tree.Count() == 0 {
		s.agent = s.agent || inSide && f.Text("agentId") != "" // whatever the file is called
		s.from = from(s.path, e.JSON, s.agent)
	}
	side := inSide && !s.agent
	switch {
	case l.flags&foreign.Seam != 0, l.kind == "compact_summary" && rec.Parent == nil:
		s.seam(&rec)
	case side && rec.Parent == nil:
		s.graft(&rec, content)
	}
	if side {
		rec.Flags |= foreign.Side
	}
	before := s.tree.Count()
	n := s.tree.Add(rec)
	if s.tree.Count() == before {
		return // it was written twice
	}
	if said {
		s.spent()
	}
	role := none
	if kind == "user" || kind == "assistant" {
		role = speaks
		if !side && f.Text("teamName") == "" && f.Get("isMeta") != "true" {
			role = leads
		}
	}
	stamp := uint32(0)
	if s.cut {
		stamp = uint32(maphash.String(s.seed, f.Text("timestamp"))) | 1
	}
	s.cut = s.cut || l.flags&foreign.Seam != 0
	s.marks.added(n, role, stamp)
	s.remember(n, &l, side, content, e.JSON)
}

// isNode reports whether a line is a node: one that is known to be one, or one of a
// type that is not known and says where it hangs.
func isNode(kind, id string, parent store.JSON, said bool) bool {
	if slices.Contains(treeTypes, kind) {
		return id != "" || said
	}
	return id != "" && parent != "" && kind != "" && !slices.Contains(otherTypes, kind)
}

// remember notes what later lines may refer to.
func (s *scanner) remember(n int32, l *looks, side bool, content, j store.JSON) {
	if l.kind == "assistant" && content.Kind() == store.Array {
		for b := range content.Elements() {
			if name, _ := b.Get("name").Text(); (name == "Task" || name == "Agent") && text(b, "type") == "tool_use" {
				asked, _ := b.At("input", "prompt").Text()
				s.tasks[maphash.String(s.seed, asked)] = n
				s.lastTask = n
			}
		}
	}
	if side {
		return
	}
	if l.kind == "user" || l.kind == "assistant" || l.kind == "tool_result" || strings.HasPrefix(l.kind, "compact") || strings.HasPrefix(l.kind, "system") {
		s.lastMain = n
	}
	if l.kind != "user" || s.prompt != "" {
		return
	}
	if title, real := prompt(j); real {
		s.prompt = title
	} else if title != "" && s.command == "" {
		s.command = title
	}
}

// seam hangs the boundary of a compaction on what came before it: the first of
// several that stands earlier in the file.
func (s *scanner) seam(rec *foreign.Record) {
	if rec.Parent != nil {
		return
	}
	m := s.line.Get("compactMetadata")
	logical := s.line.Text("logicalParentUuid")
	last := ""
	for id := range m.At("preservedMessages", "uuids").Elements() {
		last = text(id)
	}
	candidates := []string{logical, last, text(m, "preservedSegment", "tailUuid"), text(m, "preservedSegment", "headUuid")}
	if s.lastMain >= 0 {
		candidates = append(candidates, s.tree.ID(s.lastMain))
	}
	for _, id := range candidates {
		if id == "" || id == rec.ID {
			continue
		}
		if _, earlier := s.tree.Find(id); earlier {
			rec.Parent = &id
			break
		}
	}
	if _, there := s.tree.Latest(logical); !there && logical != "" {
		instead := "nothing"
		if rec.Parent != nil {
			instead = *rec.Parent
		}
		s.missing = append(s.missing, missing{strings.Clone(logical), foreign.Warning{
			Place: rec.Place, ID: strings.Clone(rec.ID), Text: "its logical parent " + logical + " is not there: it hangs below " + instead,
		}})
	}
}

// graft hangs a sub-agent's lines on the call that started it.
func (s *scanner) graft(rec *foreign.Record, content store.JSON) {
	n, known := s.tasks[maphash.String(s.seed, foreign.Content(content))]
	if !known {
		n = s.lastTask
	}
	if n >= 0 {
		parent := s.tree.ID(n)
		rec.Parent = &parent
	}
}

// spent counts tokens once a message: one may be in several lines, each with what was spent until
// then.
func (s *scanner) spent() {
	u := s.message.Get("usage")
	model := s.message.Text("model")
	if u.Kind() != store.Object || model == synthetic {
		return
	}
	s.usage.Of(u)
	var now tokens
	for i, key := range []string{"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"} {
		now[i], _ = s.usage.Get(key).Int64()
	}
	var before tokens
	again := false
	if id := s.message.Text("id"); id != "" {
		sum := maphash.String(s.seed, id)
		before, again = s.counted[sum]
		s.counted[sum] = now.most(before)
	}
	t := &s.r.Totals
	for i, n := range []*int64{&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite} {
		*n += max(now[i]-before[i], 0)
	}
	if again {
		return
	}
	if cost, ok := s.line.Get("costUSD").Float64(); ok { // older releases
		t.Cost += cost
	}
	t.Messages++
	t.Model(model)
}

// about takes a line that is no node.
func (s *scanner) about(kind string, j store.JSON) {
	switch kind {
	case "summary":
		s.sums[s.line.Kept("leafUuid")] = s.line.Kept("summary")
	case "custom-title":
		s.custom = s.line.Kept("customTitle")
	case "ai-title":
		s.ai = s.line.Kept("aiTitle")
	case "":
		kind = "without a type"
	}
	s.r.Other(kind, j)
}

// About implements foreign.LineScanner.
func (s *scanner) About() foreign.About {
	a := foreign.About{Active: s.marks.active(), Report: s.r.Clone()}
	a.Title, a.Prompt = s.title()
	for _, m := range s.missing {
		if _, there := s.tree.Latest(m.id); !there { // it may have come later
			a.Report.Orphans++
			a.Report.Warn(m.warning)
		}
	}
	if s.from != "" {
		a.Facts = append(a.Facts, store.Member{Key: "from_session", Value: store.Quote(s.from)})
	}
	if s.agent {
		if m, ok := meta(s.path); ok {
			a.Facts = append(a.Facts, store.Member{Key: "agent_type", Value: store.Quote(m.AgentType)}, store.Member{Key: "tool_use_id", Value: store.Quote(m.ToolUseID)})
		}
	}
	return a
}

// title is the session's: what a person called it, what the program did, a summary of
// something in this file, the first prompt, and whether it is that.
func (s *scanner) title() (title string, prompt bool) {
	if s.custom != "" {
		return foreign.Title(s.custom), false
	}
	if s.ai != "" {
		return foreign.Title(s.ai), false
	}
	latest := int32(-1)
	for id, sum := range s.sums {
		if n, here := s.tree.Latest(id); here && n > latest {
			latest, title = n, sum
		}
	}
	if title != "" {
		return foreign.Title(title), false
	}
	return cmp.Or(s.prompt, s.command), true
}
