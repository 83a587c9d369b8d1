package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
)

func (a *app) commitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "commit [FILE|-]",
		Short: "Commit event boundaries, one JSON object a line",
		Long: `Commit event boundaries, one JSON object a line, each with everything in it or not at all. The members of a line, here with line breaks:

{"execution": {...},
 "emits": [{"target_id": ..., "event": {...}}],
 "processed_event_id": "...",
 "timers": [{"action": "schedule", "path": "...", "fire_at": ...}],
 "spawns": [{"child_id": "...", "root_path": "...", "context": {...}}],
 "trace": {...}}

Only the execution is needed; the version in it is the one that must still be stored, 0 for a new one. An event without an id gets one. Every line is answered by a line, {"version": ..., "seqs": [...]} or {"conflict": {...}}. Conflicts do not stop the rest; a line that is refused does, and what stands before it is committed. So does an answer that cannot be written: unlike a list, commits end with code 1 when nobody reads them any more.

Start from what --raw prints, not from --json. Programs that read numbers as floats, such as jq before 1.7, write long ones back with other digits.`,
		Example: `treering commit changes.jsonl
printf '{"execution":%s,"processed_event_id":"e1"}' \
"$(treering execution order-1 --raw)" | treering commit`,
		Args: between(0, 1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "-"
			if len(args) == 1 {
				name = args[0]
			}
			in, shown, done, err := a.openInput("commits", name)
			if err != nil {
				return err
			}
			return errors.Join(a.commitLines(cmd.Context(), in, shown), done())
		},
	}
}

// commitLines commits line by line. The store is opened at once, so that one that
// cannot be written is told before anything is read; only a store that is yet to be
// made waits for a line that can be committed to it.
func (a *app) commitLines(ctx context.Context, in io.Reader, shown string) (err error) {
	var opened *locate.Opened
	defer func() {
		if opened != nil {
			err = closeAfter(ctx, opened, err)
		}
	}()
	open := func() (err error) {
		if opened, err = a.open(ctx, writing); err == nil && opened.Executions == nil {
			err = lacks(opened, writing, "executions")
		}
		return err
	}
	if !a.yetToBeMade() {
		if err := open(); err != nil {
			return err
		}
	}
	total, lost := 0, 0
	err = lines(ctx, in, shown, func(_ int, text string) error {
		total++
		c, err := parseCommit(text)
		if err != nil {
			return err
		}
		if opened == nil {
			if err := c.Validate(); err != nil {
				return err
			}
			if err := open(); err != nil {
				return err
			}
		}
		conflict, err := a.commitOne(ctx, opened.Executions, c)
		if conflict {
			lost++
		}
		return err
	})
	if err == nil && lost > 0 {
		err = conflictf("%d of %d commits lost to another writer; reload these executions and try again", lost, total)
	}
	return err
}

// answerError is an answer that could not be written. Commits matter to more than
// their reader, so it matches nothing that ends a list quietly.
type answerError struct {
	committed bool
	err       error
}

func (e *answerError) Error() string {
	did := "it lost to another writer"
	if e.committed {
		did = "it is committed"
	}
	return fmt.Sprintf("%s, but its answer could not be written: %v; nothing after it was committed", did, e.err)
}

// commitOne commits and answers.
func (a *app) commitOne(ctx context.Context, es store.ExecutionStore, c store.Commit) (conflict bool, err error) {
	seqs, err := es.Commit(ctx, c)
	var l line
	var lost *store.ConflictError
	switch {
	case errors.As(err, &lost):
		conflict = true
		found := store.Null
		if lost.Found != nil {
			found = store.JSON(fmt.Sprint(*lost.Found))
		}
		l.json("conflict", store.ObjectOf(
			store.Member{Key: "execution_id", Value: store.Quote(lost.ID)},
			store.Member{Key: "expected", Value: store.JSON(fmt.Sprint(lost.Expected))},
			store.Member{Key: "found", Value: found},
		))
	case err != nil:
		return false, err
	default:
		list := make([]store.JSON, len(seqs))
		for i, s := range seqs {
			list[i] = store.JSON(fmt.Sprint(s))
		}
		l.integer("version", c.Execution.Version).json("seqs", store.ArrayOf(list...))
	}
	err = a.out.jsonLine(&l)
	if err == nil {
		err = a.out.flush() // whoever commits over a pipe waits for the answer
	}
	if err != nil {
		return conflict, &answerError{!conflict, err}
	}
	return conflict, nil
}

// parseCommit reads one commit. What is not of the right form is an error of usage;
// what a store does not take is for the store to say.
func parseCommit(text string) (store.Commit, error) {
	var c store.Commit
	j, err := store.ParseJSON(text)
	if err != nil {
		return c, &codedError{exitUsage, err}
	}
	m, err := members(j, "the line", "execution", "emits", "processed_event_id", "timers", "spawns", "trace")
	if err != nil {
		return c, err
	}
	if c.Execution, err = parseExecution(m["execution"]); err != nil {
		return c, err
	}
	if c.ProcessedEventID, err = optionalText(m, "processed_event_id", "processed_event_id"); err != nil {
		return c, err
	}
	if !m["trace"].IsNull() {
		c.Trace = m["trace"]
	}
	if c.Emits, err = parseList(m["emits"], "emits", parseEmit); err != nil {
		return c, err
	}
	if c.Timers, err = parseList(m["timers"], "timers", parseTimer); err != nil {
		return c, err
	}
	c.Spawns, err = parseList(m["spawns"], "spawns", parseSpawn)
	return c, err
}

// printed are members that --json adds to what is stored.
var printed = []string{"non_json", "row_error", "drift"}

func parseExecution(j store.JSON) (*store.Execution, error) {
	if j.IsNull() {
		return nil, usagef("the line has no \"execution\"")
	}
	exe, err := store.DecodeExecution(string(j))
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	for _, name := range printed {
		if j.Get(name) != "" {
			return nil, usagef("the execution has a %q, so it was printed with --json, which is not what is stored; start from --raw", name)
		}
	}
	return exe, nil
}

func parseEmit(j store.JSON, at string) (store.Emit, error) {
	var e store.Emit
	m, err := members(j, at, "target_id", "event")
	if err != nil {
		return e, err
	}
	if e.TargetID, err = optionalText(m, "target_id", at+".target_id"); err != nil {
		return e, err
	}
	if m["event"].IsNull() {
		return e, usagef("%s.event is missing", at)
	}
	if e.Event, err = store.DecodeEvent(string(m["event"])); err != nil {
		return e, usagef("%s: %w", at, err)
	}
	if e.Event.Kind == "" {
		return e, usagef("%s.event.kind is missing", at)
	}
	if e.Event.ID == "" {
		e.Event.ID = store.NewEvent("", "").ID
	}
	return e, nil
}

func parseTimer(j store.JSON, at string) (store.TimerOp, error) {
	var t store.TimerOp
	m, err := members(j, at, "action", "path", "fire_at")
	if err != nil {
		return t, err
	}
	if t.Action, err = neededText(m, "action", at+".action"); err != nil {
		return t, err
	}
	if t.Path, err = neededText(m, "path", at+".path"); err != nil {
		return t, err
	}
	if t.Action != store.Schedule {
		return t, nil
	}
	switch v := m["fire_at"]; v.Kind() {
	case store.Number:
		var ok bool
		if t.FireAt, ok = v.Float64(); ok {
			return t, nil
		}
		fallthrough
	case store.NonFinite:
		return t, &store.ValueError{Field: at + ".fire_at", Reason: string(v) + " is not a time", Err: store.ErrBadTime}
	case store.Absent:
		return t, usagef("%s.fire_at is missing", at)
	default:
		return t, usagef("%s.fire_at must be a number, not %s", at, v.Kind())
	}
}

func parseSpawn(j store.JSON, at string) (store.Spawn, error) {
	var s store.Spawn
	m, err := members(j, at, "child_id", "root_path", "context")
	if err != nil {
		return s, err
	}
	if s.ChildID, err = neededText(m, "child_id", at+".child_id"); err != nil {
		return s, err
	}
	if s.RootPath, err = neededText(m, "root_path", at+".root_path"); err != nil {
		return s, err
	}
	if !m["context"].IsNull() {
		s.Context = m["context"]
	}
	return s, nil
}

func parseList[T any](j store.JSON, at string, parse func(store.JSON, string) (T, error)) ([]T, error) {
	if j.IsNull() {
		return nil, nil
	}
	if j.Kind() != store.Array {
		return nil, usagef("%s must be an array, not %s", at, j.Kind())
	}
	var out []T
	for v := range j.Elements() {
		item, err := parse(v, fmt.Sprintf("%s[%d]", at, len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// members reads an object whose keys are known. One that is not is a misspelling
// that would otherwise lose an event or a timer.
func members(j store.JSON, at string, known ...string) (map[string]store.JSON, error) {
	if j.Kind() != store.Object {
		return nil, usagef("%s must be an object, not %s", at, j.Kind())
	}
	out := make(map[string]store.JSON, len(known))
	for k, v := range j.Members() {
		is := false
		for _, name := range known {
			is = is || name == k
		}
		if !is {
			return nil, usagef("%s has an unknown key %q; the known ones are %s", at, k, strings.Join(known, ", "))
		}
		if _, again := out[k]; again {
			return nil, usagef("%s has the key %q twice", at, k)
		}
		out[k] = v
	}
	return out, nil
}

func optionalText(m map[string]store.JSON, key, at string) (*string, error) {
	if m[key].IsNull() {
		return nil, nil
	}
	s, err := neededText(m, key, at)
	return &s, err
}

func neededText(m map[string]store.JSON, key, at string) (string, error) {
	s, ok := m[key].Text()
	switch {
	case m[key] == "":
		return "", usagef("%s is missing", at)
	case !ok:
		return "", usagef("%s must be a string, not %s", at, m[key].Kind())
	}
	return s, nil
}
