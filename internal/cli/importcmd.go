package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
)

func (a *app) importCommand() *cobra.Command {
	var o importing
	var into string
	cmd := &cobra.Command{
		Use:   "import SOURCE...",
		Short: "Copy sessions of other programs, or of another store, into a store",
		Long: "Copy the sessions of every SOURCE, a file or a folder as the explorer opens it, into a store of treering's own, where they can be " +
			"branched. Importing again adds what is new since: a node keeps its id, and one whose id no store takes gets one made of its session's " +
			"and its own (a UUID, version 5). What grows and changes in a source is left out: the active head, labels, the session's title. " +
			"A session without a header gets a root of its own, since a second first message may come later.\n\n" +
			"A session that is there with other contents is a conflict, found before anything of it is written. A node whose parent in the source is " +
			"another one now stays where it is, with a warning. Data that no store takes is kept as text, or as its size and SHA-256 if it is over 16 MiB.",
		Example: `treering import ~/.claude/projects --into work.db --create
treering import talk.jsonl --into work.db --session talk
treering import sessions.db --into work.db --dry-run --json`,
		Args: between(1, -1, "SOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if a.storeGiven && cmd.Flags().Changed("into") {
				return usagef("import takes --into or -s, not both")
			}
			if cmd.Flags().Changed("into") {
				a.store, a.storeGiven = into, true
			}
			for _, id := range []struct{ flag, value string }{{"session", o.session}, {"kind", o.kind}} {
				if cmd.Flags().Changed(id.flag) {
					if err := store.CheckID(id.flag, id.value); err != nil {
						return usagef("--%s: %w", id.flag, err)
					}
				}
			}
			o.a = a
			run := func(target *locate.Opened) error {
				switch {
				case target.Info.Foreign:
					return usagef("%q belongs to another program: nothing is imported into it", target.Info.Locator)
				case target.Trees == nil:
					return lacks(target, writing, "session trees")
				}
				o.to = target.Trees
				return o.all(ctx, args, target.Info.Path)
			}
			if !o.dryRun {
				return a.withStore(ctx, writing, run)
			}
			locator, _, err := a.locator()
			if err != nil {
				return &openError{err}
			}
			if exists(locator) {
				return a.withStore(ctx, reading, run)
			}
			nothing, err := a.openNothing(ctx, locator, false)
			if err != nil {
				return err
			}
			return closeAfter(ctx, nothing, run(nothing))
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&into, "into", "", "import into this `STORE`, instead of the one that -s names or the default one")
	fl.StringVar(&o.session, "session", "", "call the session `NAME`; for a source with a single one")
	fl.StringVar(&o.kind, "kind", "", "make the sessions of this `KIND`, instead of the source's")
	fl.BoolVar(&o.dryRun, "dry-run", false, "say what would be added, and write nothing")
	return cmd
}

// importing is one run of import.
type importing struct {
	a       *app
	to      store.TreeStore
	session string
	kind    string
	dryRun  bool
}

// imported is what came of one session.
type imported struct {
	source, from, into, kind string
	nodes, added             int64
	warnings                 []string
	unlisted                 int64 // warnings that are counted only
	err                      error
}

// all imports every source. A conflict in one session keeps no other from being
// imported.
func (im *importing) all(ctx context.Context, sources []string, target string) error {
	var done []imported
	for _, source := range sources {
		o, err := im.a.openAt(ctx, source, locate.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		err = im.source(ctx, o, locate.Redact(source), target, &done)
		if err = closeAfter(ctx, o, err); err != nil {
			return errors.Join(err, im.report(done))
		}
	}
	var failed []error
	for _, d := range done {
		if d.err != nil {
			failed = append(failed, d.err)
		}
	}
	if err := im.report(done); err != nil {
		return err
	}
	if n := len(failed); n > 1 {
		return fmt.Errorf("%d sessions were not imported; the first: %w", n, failed[0])
	}
	return errors.Join(failed...)
}

func (im *importing) source(ctx context.Context, o *locate.Opened, shown, target string, done *[]imported) error {
	switch {
	case o.Trees == nil:
		return &openError{fmt.Errorf("%q holds no session trees to import", o.Info.Locator)}
	case o.Info.Path != "" && o.Info.Path == target:
		return usagef("%q cannot be imported into itself", o.Info.Locator)
	}
	var sessions []store.SessionInfo
	err := store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return o.Trees.ListSessions(ctx, store.SessionFilter{}, p)
	}, func(s store.SessionInfo) error {
		sessions = append(sessions, s)
		return nil
	})
	if err != nil {
		return err
	}
	if im.session != "" && len(sessions) != 1 {
		return usagef("--session names one session, but %q has %d", o.Info.Locator, len(sessions))
	}
	for _, s := range sessions {
		one := imported{source: shown, from: s.ID, into: s.ID, kind: s.Kind}
		if im.session != "" {
			one.into = im.session
		}
		if im.kind != "" {
			one.kind = im.kind
		}
		err := im.one(ctx, o, &one)
		var conflict *store.NodeConflictError
		var mismatch *store.KindMismatchError
		switch {
		case errors.As(err, &conflict), errors.As(err, &mismatch):
			one.err = fmt.Errorf("%q, session %q: %w; import it under another name with --session", shown, s.ID, err)
		case err != nil:
			return fmt.Errorf("import session %q of %q: %w", s.ID, shown, err)
		}
		*done = append(*done, one)
	}
	return nil
}

// importBatch is how many nodes are read, compared and written at once; batchBytes
// bounds what they hold together.
const (
	importBatch = 500
	batchBytes  = 32 << 20
)

// one imports a session: it finds out what is new and whether anything speaks against
// it, and then appends that, parents before children, a batch at a time.
func (im *importing) one(ctx context.Context, o *locate.Opened, one *imported) error {
	c, err := newCopying(ctx, o, one)
	if err != nil {
		return err
	}
	one.nodes = int64(len(c.nodes))
	progress := im.a.progressOn(one.from)
	defer progress.end()
	fresh, err := im.compare(ctx, c, one, progress)
	if err != nil {
		return err
	}
	one.added = int64(len(fresh))
	if im.dryRun {
		return nil
	}
	if _, err := im.to.CreateSession(ctx, one.into, one.kind, nil); err != nil {
		return err
	}
	written := int64(len(c.nodes) - len(fresh))
	for len(fresh) > 0 {
		batch, rest, err := c.read(ctx, fresh, one)
		if err != nil {
			return err
		}
		if err := appendAll(ctx, im.to, one.into, batch); err != nil {
			return err
		}
		written += int64(len(batch))
		fresh = rest
		progress.at(written, one.nodes)
	}
	return nil
}

// appendAll appends nodes in their order, at once where the store can do that.
func appendAll(ctx context.Context, to store.TreeStore, session string, nodes []store.Node) error {
	if b, ok := to.(store.BatchAppender); ok {
		return b.AppendAll(ctx, session, nodes)
	}
	for _, n := range nodes {
		if err := to.Append(ctx, session, n); err != nil {
			return err
		}
	}
	return nil
}

// compare finds the nodes that are not in the target yet, parents before children.
// What is there with other contents is an error; with another parent, a warning.
func (im *importing) compare(ctx context.Context, c *copying, one *imported, progress *progress) (fresh []int32, err error) {
	order := c.parentsFirst()
	info, err := im.to.Session(ctx, one.into)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return order, nil
	case err != nil:
		return nil, err
	case info.Kind != one.kind:
		return nil, &store.KindMismatchError{Session: one.into, Stored: info.Kind, Given: one.kind}
	}
	root, err := im.to.ListChildren(ctx, one.into, "", store.PageRequest{Limit: 1})
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(order); at += importBatch {
		part := order[at:min(at+importBatch, len(order))]
		ids := make([]string, len(part))
		for i, n := range part {
			ids[i] = c.nodes[n].id
		}
		stored, err := im.to.Nodes(ctx, one.into, ids)
		if err != nil {
			return nil, err
		}
		var there []int32
		was := map[int32]*store.Node{}
		for i, n := range part {
			if stored[i] == nil {
				if c.nodes[n].parent < 0 && len(root.Items) > 0 {
					return nil, &store.NodeConflictError{Session: one.into, Node: ids[i], Reason: store.ReasonSecondRoot}
				}
				fresh = append(fresh, n)
				continue
			}
			there = append(there, n)
			was[n] = stored[i]
		}
		for len(there) > 0 {
			asked := there
			batch, rest, err := c.read(ctx, there, nil)
			if err != nil {
				return nil, err
			}
			for i, node := range batch {
				old := was[asked[i]]
				moved := node.DiffersFrom(*old) == store.ReasonParent
				parent := node.ParentID
				node.ParentID = old.ParentID
				if reason := node.DiffersFrom(*old); reason != "" {
					return nil, &store.NodeConflictError{Session: one.into, Node: node.ID, Reason: reason}
				}
				if moved {
					one.warn("node %s hangs below %s in the source now; it stays below %s", node.ID, parentText(parent), parentText(old.ParentID))
				}
			}
			there = rest
		}
		progress.at(int64(at+len(part)), one.nodes)
	}
	return fresh, nil
}

func parentText(id *string) string {
	if id == nil {
		return "nothing"
	}
	return *id
}

// maxImportWarnings is how many warnings of a session are listed; all are counted.
const maxImportWarnings = 50

func (one *imported) warn(format string, args ...any) {
	if len(one.warnings) >= maxImportWarnings {
		one.unlisted++
		return
	}
	one.warnings = append(one.warnings, fmt.Sprintf(format, args...))
}

// report says what came of each session.
func (im *importing) report(done []imported) error {
	a := im.a
	if a.json {
		for _, d := range done {
			var l line
			l.text("source", d.source).text("from", d.from).text("session_id", d.into).text("kind", d.kind).integer("nodes", d.nodes).
				integer("added", d.added).boolean("dry_run", im.dryRun).integer("warning_count", int64(len(d.warnings))+d.unlisted).texts("warnings", d.warnings)
			if d.err == nil {
				l.null("error")
			} else {
				l.text("error", d.err.Error())
			}
			if err := a.out.jsonLine(&l); err != nil {
				return err
			}
		}
		return a.out.flush()
	}
	t := a.out.table("no sessions", "SESSION", "KIND", "NODES", "ADDED", "WARNINGS")
	for _, d := range done {
		added := fmt.Sprint(d.added)
		if d.err != nil {
			added = "conflict"
		}
		if err := t.row(d.into, d.kind, fmt.Sprint(d.nodes), added, fmt.Sprint(int64(len(d.warnings))+d.unlisted)); err != nil {
			return err
		}
	}
	if err := t.end(); err != nil {
		return err
	}
	for _, d := range done {
		for _, w := range d.warnings {
			if err := a.out.linef("%s: %s", d.into, w); err != nil {
				return err
			}
		}
		if d.unlisted > 0 {
			if err := a.out.linef("%s: and %d more", d.into, d.unlisted); err != nil {
				return err
			}
		}
	}
	return a.out.flush()
}

// progress draws how far a session is, on a terminal.
type progress struct {
	w     io.Writer // nil: there is nobody to see it
	what  string
	drawn time.Time
	any   bool
}

func (a *app) progressOn(what string) *progress {
	p := &progress{what: term.SanitiseN(what, 40).String()}
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(f) && !a.dumb() {
		p.w = f
	}
	return p
}

const (
	progressWait  = 100 * time.Millisecond
	progressCells = 24
)

func (p *progress) at(n, of int64) {
	if p.w == nil || of == 0 || time.Since(p.drawn) < progressWait {
		return
	}
	p.drawn, p.any = time.Now(), true
	full := int(n * progressCells / of)
	bar := slices.Repeat([]byte{'.'}, progressCells)
	for i := range min(full, progressCells) {
		bar[i] = '#'
	}
	fmt.Fprintf(p.w, "\r\x1b[K[%s] %d of %d  %s", bar, n, of, p.what) //nolint:errcheck // it is only for the eye
}

func (p *progress) end() {
	if p.any {
		fmt.Fprint(p.w, "\r\x1b[K") //nolint:errcheck // it is only for the eye
	}
}
