package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"treering/store"
)

// function is a commit as a function of the session: made in its temporary schema, it
// is nobody else's, ends with the connection, and can be had on tables of other programs
// too. The server runs its short statements by kept plans in half the time that it needs
// for the one statement that does all, which it has to set up whole each time. It is
// worth making for who commits often; and where it cannot be had the statement does the
// same.
type function struct {
	text    string // that makes it; "" where it cannot be had
	commits atomic.Int64
	refused atomic.Bool // the server does not have it, or not for these columns
}

// oftenEnough is how many commits come before the function is made.
const oftenEnough = 16

// functionMade notes on a connection that it has the function.
const functionMade = "treering commit"

// callFunction asks for one value: a row of several would be a table to the server, which it puts
// aside before it sends it. The first element says whether the commit won; then come the seqs,
// or the version that was found, if any.
const callFunction = "SELECT pg_temp.treering_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"

func newFunction(set *Set, traceMax int64) *function {
	x, err := set.table(tableExecutions)
	if err != nil {
		return &function{}
	}
	var b strings.Builder
	b.WriteString(`CREATE OR REPLACE FUNCTION pg_temp.treering_commit(p_id text, p_definition text, p_data text, p_old bigint, p_targets text[], p_events text[], p_mark text,
 p_armed text[], p_times float8[], p_cancelled text[], p_children text[], p_roots text[], p_contexts text[], p_entry text)
 RETURNS bigint[] LANGUAGE plpgsql VOLATILE AS $treering$
DECLARE v_won boolean; v_answer bigint[] := '{1}'; v_step bigint; v_dropped bigint;
BEGIN
 UPDATE ` + x + ` SET definition_id = p_definition, data = p_data, version = p_old + 1 WHERE id = p_id AND version = p_old;
 v_won := FOUND;
 IF NOT v_won AND p_old = 0 THEN
  INSERT INTO ` + x + ` (id, definition_id, data, version) VALUES (p_id, p_definition, p_data, 1) ON CONFLICT (id) DO NOTHING;
  v_won := FOUND;
 END IF;
 IF NOT v_won THEN
  RETURN ARRAY[0::bigint] || ARRAY(SELECT version::bigint FROM ` + x + ` WHERE id = p_id AND version IS NOT NULL);
 END IF;
`)
	part := func(table, given string, statements func(table string) string) {
		if t, err := set.table(table); err == nil {
			b.WriteString(" IF " + given + " IS NOT NULL THEN\n" + statements(t) + " END IF;\n")
		}
	}
	part(tableOutbox, "p_events", func(t string) string {
		return `  IF cardinality(p_events) = 1 THEN
   INSERT INTO ` + t + ` (target_id, event) VALUES (p_targets[1], p_events[1]) RETURNING ARRAY[1, seq::bigint] INTO v_answer;
  ELSE
   WITH emitted AS (INSERT INTO ` + t + ` (target_id, event) SELECT u.t, u.e FROM unnest(p_targets, p_events) WITH ORDINALITY AS u(t, e, n) ORDER BY u.n RETURNING seq)
    SELECT 1::bigint || array_agg(seq::bigint ORDER BY seq) INTO v_answer FROM emitted;
  END IF;
`
	})
	part(tableProcessed, "p_mark", func(t string) string {
		return "  INSERT INTO " + t + " (execution_id, event_id) VALUES (p_id, p_mark) ON CONFLICT DO NOTHING;\n"
	})
	part(tableTimers, "p_armed", func(t string) string {
		const rearmed = " ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at;\n"
		into := "   INSERT INTO " + t + " (execution_id, path, fire_at) "
		return "  IF cardinality(p_armed) = 1 THEN\n" + into + "VALUES (p_id, p_armed[1], p_times[1])" + rearmed +
			"  ELSE\n" + into + "SELECT p_id, u.p, u.f FROM unnest(p_armed, p_times) AS u(p, f)" + rearmed + "  END IF;\n"
	})
	part(tableTimers, "p_cancelled", func(t string) string {
		return "  DELETE FROM " + t + " WHERE execution_id = p_id AND path = ANY (p_cancelled);\n"
	})
	part(tableSpawns, "p_children", func(t string) string {
		return "  INSERT INTO " + t + " (parent_id, child_id, root_path, context) SELECT p_id, u.c, u.r, u.x FROM unnest(p_children, p_roots, p_contexts) WITH ORDINALITY AS u(c, r, x, n) ORDER BY u.n;\n"
	})
	part(tableTrace, "p_entry", func(t string) string {
		step := "  INSERT INTO " + t + " (execution_id, idx, entry) SELECT p_id, coalesce(max(idx), -1) + 1, p_entry FROM " + t + " WHERE execution_id = p_id RETURNING idx INTO v_step;\n"
		if traceMax == 0 {
			return step
		}
		// Nearly always one step goes. To look for more below it would mean to go through
		// the index entries of all that went since the last VACUUM: that is done where
		// more than one went, and now and then.
		max := strconv.FormatInt(traceMax, 10)
		dropped := "DELETE FROM " + t + " WHERE execution_id = p_id AND idx <= v_step - " + max
		return step + "  " + dropped + " AND idx > v_step - " + max + " - 64;\n" +
			"  GET DIAGNOSTICS v_dropped = ROW_COUNT;\n" +
			"  IF v_dropped > 1 OR v_step % 64 = 0 THEN\n   " + dropped + ";\n  END IF;\n"
	})
	b.WriteString(" RETURN v_answer;\nEND $treering$")
	return &function{text: b.String()}
}

// had reports whether the connection has the function, and makes it where it is worth
// it. No error of that is one of the commit.
func (f *function) had(ctx context.Context, conn *pgxpool.Conn) bool {
	if f.text == "" || f.refused.Load() || f.commits.Add(1) <= oftenEnough {
		return false
	}
	made := conn.Conn().PgConn().CustomData()
	if made[functionMade] != nil {
		return true
	}
	if _, err := conn.Exec(ctx, f.text); err != nil {
		if sqlState(err) != "" { // no right to it, no such language; a connection that was lost says so itself
			f.refused.Store(true)
		}
		return false
	}
	made[functionMade] = true
	return true
}

// call commits through the function. Where that is not what the server has for it, it
// is errNoFunction, and nothing was written.
func (f *function) call(ctx context.Context, conn *pgxpool.Conn, args []any, won *bool, found **int64, seqs *[]int64) error {
	var answer []int64
	err := conn.QueryRow(ctx, callFunction, args...).Scan(&answer)
	switch sqlState(err) {
	case undefinedFunction, undefinedSchema: // a pooler in between gave the session to somebody else
		f.refused.Store(true)
		return errNoFunction
	case datatypeMismatch, undefinedColumn, indeterminateType: // columns of other types than harel's
		f.refused.Store(true)
		return errNoFunction
	}
	switch {
	case err != nil:
		return err
	case len(answer) == 0:
		return errors.New("the function of the session answered nothing")
	case answer[0] != 0:
		*won, *seqs = true, answer[1:]
	case len(answer) > 1:
		*found = &answer[1]
	}
	return nil
}

var errNoFunction = errors.New("there is no such function")

// functionArgs are the parts of a commit as the function takes them.
func (e *executions) functionArgs(c store.Checked) ([]any, error) {
	for _, need := range []struct {
		table string
		given bool
	}{
		{tableOutbox, len(c.Emits) > 0}, {tableProcessed, c.ProcessedEventID != nil}, {tableTimers, len(c.Timers) > 0},
		{tableSpawns, len(c.Spawns) > 0}, {tableTrace, c.Trace != ""},
	} {
		if need.given {
			if _, err := e.set.table(need.table); err != nil {
				return nil, err
			}
		}
	}
	var targets []*string
	var events []string
	for _, em := range c.Emits {
		targets, events = append(targets, em.TargetID), append(events, em.Event)
	}
	armed, times, cancelled := lastOps(c.Timers)
	var children, roots, contexts []string
	for _, sp := range c.Spawns {
		children, roots, contexts = append(children, sp.ChildID), append(roots, sp.RootPath), append(contexts, string(sp.Context))
	}
	var entry *string
	if c.Trace != "" {
		text := string(c.Trace)
		entry = &text
	}
	return []any{c.ID, c.DefinitionID, c.Data, c.Expected, targets, events, c.ProcessedEventID, armed, times, cancelled, children, roots, contexts, entry}, nil
}
