package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/store/query"
	"treering/treeview"
)

// filterAnnotation names the subject of a command's --filter.
const filterAnnotation = "treering_filter"

// filterHelp is what the man page says of filters.
const filterHelp = `The lists take --filter QUERY. Words are looked for letter by letter, a text in quotes exactly; a field, a colon and a value ask for one thing, as in status:failed; comparisons are = != < <= > >= and ~, which asks whether it is contained. What stands side by side must all be true; or, not and parentheses combine. A value with blanks or parentheses stands in quotes.

A span such as since:10m counts back from now, one with a plus, as in before:+1h, ahead. A row without a time matches neither since nor before, nor their contrary; on a terminal it is said how many there are. A path such as data.user.label=first leads into JSON; in it numbers compare exactly, and text that looks like a number, true, false or null stands in quotes. What is missing or null differs from nothing.

ancestors(ID) and descendants(ID) include the one named. They, depth, children, heads() and forks() are found out by reading the whole tree, or all executions, before the list. The store selects what it can by kind, status, definition, parent, target and execution.`

// filterFlag adds --filter to a command that lists rows of the subject.
func (a *app) filterFlag(cmd *cobra.Command, s query.Subject) *cobra.Command {
	cmd.Flags().StringArrayVar(&a.filters, "filter", nil, "only what the `QUERY` selects")
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[filterAnnotation] = s.String()
	completeWith(cmd, "filter", func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		for _, c := range query.Complete(typed, len(typed), s, query.Vocabulary{}) {
			words = append(words, cobra.CompletionWithDesc(typed[:c.From]+c.Text, c.About))
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return cmd
}

// filter reads --filter, which selects everything where it is not given.
func (a *app) filter(s query.Subject) (*query.Query, error) {
	text := ""
	switch len(a.filters) {
	case 0:
	case 1:
		text = a.filters[0]
	default:
		return nil, usagef("one --filter is taken, not %d; a filter may have several parts", len(a.filters))
	}
	q, err := query.Parse(text, s)
	if err != nil {
		return nil, usagef("--filter, %w", err)
	}
	return q, nil
}

// matching binds a query that needs no tree.
func (a *app) matching(q *query.Query) (*query.Matcher, error) {
	return q.Bind(query.Env{Now: epoch(a.now())})
}

// sifting decides on the items of a list, and counts.
type sifting[T any] struct {
	match                 func(T) (query.Result, error)
	looked, shown, noTime int
}

// siftedList is list with what a query selects. The limit of the command line counts
// what is shown.
func siftedList[T any](a *app, q *query.Query, p printer[T], match func(T) (query.Result, error), fetch func(store.PageRequest) (store.Page[T], error)) error {
	if q.Empty() {
		return list(a, p, fetch)
	}
	s := &sifting[T]{match: match}
	if p.empty != "" {
		p.empty = "nothing matches"
	}
	err := list(a, p, func(r store.PageRequest) (store.Page[T], error) { return s.page(r, fetch) })
	if err == nil {
		a.sayCounts(s.shown, s.looked, s.noTime)
	}
	return err
}

// page reads a whole page of the list and keeps of it what matches, up to the limit.
func (s *sifting[T]) page(r store.PageRequest, fetch func(store.PageRequest) (store.Page[T], error)) (store.Page[T], error) {
	most := r.Limit
	r.Limit = 0
	page, err := fetch(r)
	if err != nil {
		return page, err
	}
	var kept []T
	for _, item := range page.Items {
		if most > 0 && len(kept) == most {
			break
		}
		result, err := s.match(item)
		if err != nil {
			return page, err
		}
		s.looked++
		switch result {
		case query.Yes:
			s.shown++
			kept = append(kept, item)
		case query.NoTime:
			s.noTime++
		case query.No:
		}
	}
	page.Items = kept
	return page, nil
}

// sayCounts tells somebody at a terminal how much was looked at.
func (a *app) sayCounts(shown, looked, noTime int) {
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(f) || looked == 0 {
		return
	}
	// Where standard error cannot be written there is nobody to tell.
	fmt.Fprintf(a.stderr, "%s\n", countsText(shown, looked, noTime)) //nolint:errcheck // see above
}

func countsText(shown, looked, noTime int) string {
	text := fmt.Sprintf("%d of %d looked at", shown, looked)
	switch noTime {
	case 0:
		return text
	case 1:
		return text + ", 1 has no time"
	}
	return text + fmt.Sprintf(", %d have no time", noTime)
}

// bindTree binds a query to a tree, and refuses one that names what is not in it.
func (a *app) bindTree(q *query.Query, index *treeview.Index, missing func(id string) error) (*query.Matcher, error) {
	if ids := q.Missing(index.Relations()); len(ids) > 0 {
		return nil, missing(ids[0])
	}
	return q.Bind(query.Env{Now: epoch(a.now()), Tree: index.Relations()})
}

// matchNodes decides on the nodes of a session. Where the query asks for the shape of
// the tree, that is read first.
func (a *app) matchNodes(ctx context.Context, ts store.TreeStore, session string, q *query.Query) (func(store.Node) (query.Result, error), error) {
	var m *query.Matcher
	var err error
	if q.Needs().Shape {
		index := treeview.New(treeview.ByArrival)
		if err = readIndex(ctx, ts, session, index, false, func(e treeview.Entry, _ store.JSON, _ mark) {
			index.Add(treeview.Entry{ID: e.ID, Parent: e.Parent, Aside: e.Aside})
		}); err == nil {
			m, err = a.bindTree(q, index, missingNode(session))
		}
	} else {
		m, err = a.matching(q)
	}
	if err != nil {
		return nil, err
	}
	var node store.Node
	row := query.NodeRow{Data: func() store.JSON { return node.Data }}
	return func(n store.Node) (query.Result, error) {
		node = n
		row.ID, row.Parent, row.Kind, row.Title = n.ID, n.ParentID, n.Kind, n.Title()
		return m.Match(&row), nil
	}, nil
}

func missingNode(session string) func(id string) error {
	return func(id string) error { return &store.NotFoundError{What: "node", ID: id, In: session} }
}

// matchExecutions decides on executions. Their contexts and traces are read one by
// one, where the query asks for them; their families before the list.
func (a *app) matchExecutions(ctx context.Context, es store.ExecutionStore, q *query.Query) (func(store.Summary) (query.Result, error), error) {
	var m *query.Matcher
	var err error
	if q.Needs().Shape {
		index := treeview.New(treeview.ByArrival)
		err = store.All(func(p store.PageRequest) (store.Page[store.Summary], error) {
			return es.ListExecutions(ctx, store.ExecutionFilter{}, p)
		}, func(s store.Summary) error {
			index.Add(treeview.Entry{ID: s.ID, Parent: s.ParentID})
			return nil
		})
		if err == nil {
			m, err = a.bindTree(q, index, func(id string) error { return &store.NotFoundError{What: "execution", ID: id} })
		}
	} else {
		m, err = a.matching(q)
	}
	if err != nil {
		return nil, err
	}
	d := executionDetails{ctx: ctx, es: es}
	row := query.ExecutionRow{Context: d.context, LastStep: d.lastStep}
	return func(s store.Summary) (query.Result, error) {
		d.id, d.read = s.ID, false
		row.Summary = &s
		result := m.Match(&row)
		return result, d.err
	}, nil
}

// executionDetails reads what a summary lacks, and keeps the first error.
type executionDetails struct {
	ctx  context.Context //nolint:containedctx // a row's functions have no other way to get it
	es   store.ExecutionStore
	id   string
	read bool
	held store.JSON // the context of id, where read
	err  error
}

func (d *executionDetails) context() store.JSON {
	if d.read {
		return d.held
	}
	d.read, d.held = true, ""
	_, exe, err := store.Inspect(d.ctx, d.es, d.id)
	if err == nil && exe != nil {
		d.held = exe.Context
	}
	d.fail(err)
	return d.held
}

func (d *executionDetails) lastStep() (float64, bool) {
	steps, err := d.es.ReadTrace(d.ctx, d.id)
	if d.fail(err); err != nil || len(steps) == 0 {
		return 0, false
	}
	last := steps[len(steps)-1]
	if last.Bad != nil {
		return 0, false
	}
	return query.TimeOf(last.Step().Timestamp)
}

// fail keeps an error, unless it is one of this row alone: it is bad, and the list
// says so, or it has gone since.
func (d *executionDetails) fail(err error) {
	var bad *store.RowError
	if err != nil && d.err == nil && !errors.As(err, &bad) && !errors.Is(err, store.ErrNotFound) {
		d.err = err
	}
}
