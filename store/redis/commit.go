package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// Save implements [store.ExecutionStore].
func (e *executions) Save(ctx context.Context, exe *store.Execution) error {
	_, err := e.Commit(ctx, store.Commit{Execution: exe})
	return err
}

// Commit implements [store.ExecutionStore].
func (e *executions) Commit(ctx context.Context, c store.Commit) ([]int64, error) {
	if err := e.db.writable(ctx); err != nil {
		return nil, err
	}
	checked, err := c.Check()
	if err != nil {
		return nil, err
	}
	if len(checked.Timers) > 0 && strings.IndexByte(checked.ID, 0) >= 0 {
		return nil, &store.ValueError{Field: "execution id", Reason: "holds a NUL, which is where a timer's path begins in Redis: it can have no timers", Err: store.ErrNotText}
	}
	keys, args := e.commitArguments(checked)
	emits := int64(len(checked.Emits))
	last, err := write(ctx, e.db, func(ctx context.Context) (int64, error) { return e.commit(ctx, checked, keys, args) })
	if err != nil {
		return nil, err
	}
	seqs := make([]int64, 0, emits)
	for i := range emits {
		seqs = append(seqs, last-emits+1+i)
	}
	c.Execution.Version = checked.Expected + 1
	return seqs, nil
}

// Places in the arguments of commitScript.
const (
	argHow  = 2
	argBlob = 3
)

func (e *executions) commitArguments(c store.Checked) (keys []string, args []any) {
	k := e.keys
	keys = []string{
		k.exe(c.ID), k.outbox, k.outboxSeq, k.spawns, k.spawnsSeq, k.processed(c.ID),
		k.timers, k.trace(c.ID), k.traceSeq(c.ID),
	}
	if c.Expected == 0 {
		keys = append(keys, k.born, k.births)
	}
	marked, mark := "", ""
	if c.ProcessedEventID != nil {
		marked, mark = "1", *c.ProcessedEventID
	}
	args = make([]any, 0, 13+len(c.Emits)+len(c.Spawns)+3*len(c.Timers))
	args = append(args, strconv.FormatInt(c.Expected, 10), c.Data, "v", "", marked, mark, stepHead(c.Trace),
		strconv.Itoa(e.traceMax), c.ID, strconv.Itoa(len(c.Emits)), strconv.Itoa(len(c.Spawns)), strconv.Itoa(len(c.Timers)), e.db.at.rights())
	for _, emit := range c.Emits {
		args = append(args, outboxValue(emit))
	}
	for _, s := range c.Spawns {
		args = append(args, spawnValue(c.ID, s))
	}
	for _, t := range c.Timers {
		args = append(args, t.Action, timerMember(c.ID, t.Path), formatScore(t.FireAt))
	}
	return keys, args
}

// formatScore writes a time so that Redis reads exactly it.
func formatScore(at float64) string { return strconv.FormatFloat(at, 'g', -1, 64) }

// outboxValue is an entry as harel has it: the event is text in it.
func outboxValue(emit store.EncodedEmit) string {
	target := store.Null
	if emit.TargetID != nil {
		target = store.Quote(*emit.TargetID)
	}
	return `{"t": ` + string(target) + `, "e": ` + string(store.Quote(emit.Event)) + `}`
}

func spawnValue(parent string, s store.Spawn) string {
	return `{"p": ` + string(store.Quote(parent)) + `, "c": ` + string(store.Quote(s.ChildID)) +
		`, "r": ` + string(store.Quote(s.RootPath)) + `, "x": ` + string(s.Context) + `}`
}

// stepHead is a step up to where the script puts the index and the closing brace. An
// index that it has already is taken out: the store's own counts.
func stepHead(entry store.JSON) string {
	if entry == "" {
		return ""
	}
	if entry.Get("index") != "" {
		var kept []store.Member
		for k, v := range entry.Members() {
			if k != "index" {
				kept = append(kept, store.Member{Key: k, Value: v})
			}
		}
		entry = store.ObjectOf(kept...)
	}
	text := strings.TrimRight(string(entry), " \t\r\n")
	text = strings.TrimRight(text[:len(text)-1], " \t\r\n")
	if strings.TrimSpace(text) == "{" {
		return "{"
	}
	return text + ", "
}

// commit runs the script until it is decided. Where the script cannot tell the version
// of what is stored, it is told here, and the script holds to that very text.
func (e *executions) commit(ctx context.Context, c store.Checked, keys []string, args []any) (int64, error) {
	for range commitTries {
		answer, err := e.run(ctx, commitScript, keys, args...)
		if err != nil {
			return 0, e.clash(ctx, err, e.keys.types(c.ID))
		}
		switch answer[0] {
		case "ok":
			return integer(answer, 1)
		case "denied":
			command, _ := text(answer, 1)
			return 0, e.db.denied(command)
		case "absent":
			return 0, &store.ConflictError{ID: c.ID, Expected: c.Expected}
		case "conflict":
			found, err := integer(answer, 1)
			if err != nil {
				return 0, err
			}
			return 0, &store.ConflictError{ID: c.ID, Expected: c.Expected, Found: &found}
		}
		// A copy: an abandoned call must not change what the next try of its caller reads.
		args = append([]any(nil), args...)
		args[argHow], args[argBlob] = "v", ""
		if blob, there := text(answer, 1); there {
			found, err := store.VersionOfBlob(blob)
			switch {
			case err != nil:
				return 0, &store.RowError{Table: "executions", Key: c.ID, Err: err, Raw: []byte(blob)}
			case found != c.Expected:
				return 0, &store.ConflictError{ID: c.ID, Expected: c.Expected, Found: &found}
			}
			args[argHow], args[argBlob] = "b", blob
		}
	}
	return 0, &store.ConflictError{ID: c.ID, Expected: c.Expected}
}

// commitTries bounds the looks at a blob that others keep changing.
const commitTries = 10

// run runs a script that answers with a list, its first entry a word.
func (e *executions) run(ctx context.Context, script *goredis.Script, keys []string, args ...any) ([]any, error) {
	answer, err := script.Run(ctx, e.db.client, keys, args...).Slice()
	if err != nil {
		return nil, err
	}
	if len(answer) == 0 {
		return nil, fmt.Errorf("redis %s: a script gave no answer", e.db.addr)
	}
	return answer, nil
}

// text is an entry of a script's answer; there is none where it is nil.
func text(answer []any, i int) (string, bool) {
	if i >= len(answer) {
		return "", false
	}
	s, ok := answer[i].(string)
	return s, ok
}

func integer(answer []any, i int) (int64, error) {
	if i < len(answer) {
		if n, ok := answer[i].(int64); ok {
			return n, nil
		}
	}
	s, _ := text(answer, i)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the answer of a script is no number: %w", err)
	}
	return n, nil
}

// clash says of a script that met a key of another type than the layout has there which
// one that is, where types are what they should be. Any other error passes.
func (e *executions) clash(ctx context.Context, err error, types map[string]string) error {
	if !strings.HasPrefix(redisAnswer(err), "WRONGTYPE") {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if is, terr := e.db.client.Type(ctx, name).Result(); terr == nil && is != "none" && is != types[name] {
			return fmt.Errorf("%w: the key %q is a %s, not a %s; nothing was written", store.ErrNotAStore, name, is, types[name])
		}
	}
	return err
}

// types are what the keys of one execution's commit are.
func (k keys) types(id string) map[string]string {
	return map[string]string{
		k.exe(id): "string", k.outbox: "hash", k.outboxSeq: "string", k.spawns: "hash", k.spawnsSeq: "string",
		k.processed(id): "set", k.timers: "zset", k.trace(id): "list", k.traceSeq(id): "string",
	}
}

// AppendTrace implements [store.ExecutionStore].
func (e *executions) AppendTrace(ctx context.Context, id string, entry store.JSON) error {
	if err := e.db.writable(ctx); err != nil {
		return err
	}
	if err := store.CheckExecutionID(id); err != nil {
		return err
	}
	if err := store.CheckTrace(entry); err != nil {
		return err
	}
	_, err := write(ctx, e.db, func(ctx context.Context) (bool, error) {
		keys := []string{e.keys.trace(id), e.keys.traceSeq(id)}
		_, err := e.run(ctx, traceScript, keys, stepHead(entry), strconv.Itoa(e.traceMax))
		return err == nil, e.clash(ctx, err, map[string]string{keys[0]: "list", keys[1]: "string"})
	})
	return err
}
