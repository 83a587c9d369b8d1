package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Bounds of what a tree store takes.
const (
	MaxNodeIDs   = 1000     // ids in one Nodes call
	MaxIDBytes   = 512      // UTF-8 bytes of a session id, node id or kind
	MaxDataBytes = 16 << 20 // UTF-8 bytes of a node's data as given
)

// Node is one immutable node of a session tree. Its id identifies a record, not
// an order. Keep the prepared Node to retry an append whose answer was lost.
type Node struct {
	ID       string
	ParentID *string // nil: the root
	Kind     string  // of the step: run, stage, config
	Data     JSON    // an object
}

// NewID returns a fresh identity, a UUIDv7. Nothing may rely on its order.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// SameAs reports whether n is what o is: same id, parent, kind and the same data
// by JSON value.
func (n Node) SameAs(o Node) bool { return n.ID == o.ID && n.DiffersFrom(o) == "" }

// DiffersFrom returns the reason of a [NodeConflictError] between two nodes of
// one id, or "" where they are equal.
func (n Node) DiffersFrom(o Node) string {
	switch {
	case (n.ParentID == nil) != (o.ParentID == nil) || n.ParentID != nil && *n.ParentID != *o.ParentID:
		return ReasonParent
	case n.Kind != o.Kind:
		return ReasonKind
	case !Equal(n.Data, o.Data):
		return ReasonData
	}
	return ""
}

// Title is what a list shows for the node: the first non-blank line of
// data.title, data.user.label, data.label or data.command, else the kind and
// eight characters of the id. It is foreign text: sanitise it before it reaches
// a screen.
func (n Node) Title() string {
	for _, v := range [...]JSON{n.Data.Get("title"), n.Data.At("user", "label"), n.Data.Get("label"), n.Data.Get("command")} {
		if text, ok := v.Text(); ok {
			if line := firstLine(text); line != "" {
				return line
			}
		}
	}
	id := n.ID
	if r := []rune(id); len(r) > 8 {
		id = string(r[:8])
	}
	return strings.TrimSpace(n.Kind + " " + id)
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// SessionInfo describes one tree.
type SessionInfo struct {
	ID        string
	Kind      string   // of the tree: session, docker-build, upload-cache
	ExpiresAt *float64 // epoch seconds by the store's clock; nil: kept until deleted
}

// SessionFilter selects trees before paging. The zero value selects all live ones.
type SessionFilter struct {
	Kinds    []string // nil: any; empty: none
	NotKinds []string
}

// Selects reports whether a tree of that kind passes.
func (f SessionFilter) Selects(kind string) bool {
	for _, k := range f.NotKinds {
		if k == kind {
			return false
		}
	}
	if f.Kinds == nil {
		return true
	}
	for _, k := range f.Kinds {
		if k == kind {
			return true
		}
	}
	return false
}

// TreeStore keeps immutable session trees, shared by any number of actors,
// goroutines and (where the backend is durable) processes. Every call is atomic
// and a successful write is visible to every later read of any client.
//
// Ids, kinds and data are bounded by [MaxIDBytes] and [MaxDataBytes]; ids and
// kinds are valid UTF-8 without NUL; a refused value is a *[ValueError]. A
// missing and an expired tree are the same *[NotFoundError].
type TreeStore interface {
	// CreateSession creates an empty tree. Of a live one with the same kind it
	// returns what is there, its TTL untouched; another kind is a
	// *[KindMismatchError]. An expired one is replaced by a new empty tree. ttl is
	// in seconds from now: nil keeps the tree until deletion, 0 expires it at once,
	// negative or non-finite is refused with [ErrBadTTL].
	CreateSession(ctx context.Context, id, kind string, ttl *float64) (SessionInfo, error)
	// Session describes a live tree.
	Session(ctx context.Context, id string) (SessionInfo, error)
	// SetSessionTTL sets a new expiry from now, as CreateSession takes it.
	SetSessionTTL(ctx context.Context, id string, ttl *float64) (SessionInfo, error)
	// DeleteSession removes a tree, live or expired, and says whether there was one.
	DeleteSession(ctx context.Context, id string) (existed bool, err error)
	// PurgeExpired removes all expired trees and returns how many there were.
	PurgeExpired(ctx context.Context) (int, error)
	// CountExpired counts the trees that PurgeExpired would remove now.
	CountExpired(ctx context.Context) (int, error)

	// Append inserts one node. Equal identity and contents succeed again; changed
	// contents or a second root are a *[NodeConflictError]; a missing parent or
	// tree is a *[NotFoundError]. Data is stored as given.
	Append(ctx context.Context, session string, node Node) error
	// Node reads one node.
	Node(ctx context.Context, session, id string) (Node, error)
	// Nodes reads up to [MaxNodeIDs] identities in one atomic call: slots in input
	// order, duplicates kept, nil where missing.
	Nodes(ctx context.Context, session string, ids []string) ([]*Node, error)

	// ListSessions lists live trees in identity order.
	ListSessions(ctx context.Context, f SessionFilter, page PageRequest) (Page[SessionInfo], error)
	// ListNodes lists a tree's nodes in identity order.
	ListNodes(ctx context.Context, session string, page PageRequest) (Page[Node], error)
	// ListChildren lists the children of a node in identity order; of "" the
	// tree's roots (own stores have at most one).
	ListChildren(ctx context.Context, session, node string, page PageRequest) (Page[Node], error)
	// ListHistory follows parents, beginning with the node itself.
	ListHistory(ctx context.Context, session, node string, page PageRequest) (Page[Node], error)
	// CountNodes counts a live tree's nodes.
	CountNodes(ctx context.Context, session string) (int64, error)
	// Close releases the store. Calls after it fail with [ErrClosed].
	Close() error
}

// Outline is a node without its data: what a tree is drawn from. Its texts are
// foreign.
type Outline struct {
	ID        string
	ParentID  *string
	Kind      string
	Title     string
	Labels    []string // names of branches and labels that a user gave
	Role      string   // "user", "assistant", "tool", "system" or ""
	Time      float64  // epoch seconds, 0 unknown
	Active    bool     // the head that its program would go on from
	Failed    bool     // it says of itself that it failed
	Quiet     bool     // nothing that a person wrote or reads
	FalseFork bool     // stored as a branch, and none
}

// Outliner is what a tree store offers that can tell titles without reading data.
type Outliner interface {
	// ListOutline lists what ListNodes lists, in the same order.
	ListOutline(ctx context.Context, session string, page PageRequest) (Page[Outline], error)
}

// Previewer is what an [Outliner] offers that lists a session while it still reads it,
// which may take it seconds.
type Previewer interface {
	Outliner
	// PreviewOutline lists what ListOutline lists, as far as it was read. It waits for
	// the first node of a page, and not for the last. While records are still to come
	// a parent may be named that comes later; where reading finds the tree to be
	// another one than was listed, r.Moved says so at its end.
	PreviewOutline(ctx context.Context, session string, page PageRequest) (p Page[Outline], r Reading, err error)
	// Marks is what may change in a session without a new node. It waits until all of
	// the session was read. since is the Upto of the last one, or 0.
	Marks(ctx context.Context, session string, since int) (Marks, error)
}

// Reading is how far a session was read.
type Reading struct {
	Whole      bool  // to its end
	Done, Size int64 // so much of it, in a measure of the store's own; 0 of 0 unknown
	Moved      bool  // what was listed before it was whole has to be listed again
}

// Marks is what is said of a session's nodes that may be said of others later.
type Marks struct {
	Tree   string  // differs where nodes that were listed are elsewhere now: list again
	Nodes  int64   // how many there are
	Root   Outline // is called by the session's title
	Active string  // the head that its program would go on from, "" none
	Labels map[string][]string
	// Forks are nodes of which it changed whether they are a branch, and Upto is what
	// to ask with for those that come later.
	Forks []ForkMark
	Upto  int
}

// ForkMark says of a node whether it is stored as a branch and is none.
type ForkMark struct {
	ID    string
	False bool
}

// CheckID refuses an id or kind that a store of ours does not take. field names
// it in the error.
func CheckID(field, id string) error {
	switch {
	case id == "":
		return &ValueError{field, "must not be empty", ErrEmptyID}
	case len(id) > MaxIDBytes:
		return &ValueError{field, fmt.Sprintf("has %d bytes, at most %d are taken", len(id), MaxIDBytes), ErrTooLong}
	case !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0:
		return &ValueError{field, "must be valid UTF-8 without NUL", ErrNotText}
	}
	return nil
}

// CheckNodeIDs refuses a batch that is too large. Ids that cannot exist are not
// refused: their slots stay empty.
func CheckNodeIDs(ids []string) error {
	if len(ids) > MaxNodeIDs {
		return &ValueError{"node ids", fmt.Sprintf("%d in one call, at most %d are taken", len(ids), MaxNodeIDs), ErrTooManyIDs}
	}
	return nil
}

// Check refuses a node that no store of ours takes: an empty or over-long id,
// parent or kind, data that is over-long, not strict JSON or not an object.
func (n Node) Check() error {
	if err := CheckID("node id", n.ID); err != nil {
		return err
	}
	if n.ParentID != nil {
		if err := CheckID("parent id", *n.ParentID); err != nil {
			return err
		}
	}
	if err := CheckID("kind", n.Kind); err != nil {
		return err
	}
	return CheckData(n.Data)
}

// CheckData refuses node data that is over-long, not strict JSON, or not an object.
func CheckData(data JSON) error {
	if len(data) > MaxDataBytes {
		return &ValueError{"data", fmt.Sprintf("has %d bytes, at most %d are taken", len(data), MaxDataBytes), ErrTooLong}
	}
	if data == "" {
		return &ValueError{"data", "is missing; the empty object is {}", ErrNotObject}
	}
	if _, err := ParseStrictJSON(string(data)); err != nil {
		return &ValueError{"data", err.Error(), err}
	}
	if k := data.Kind(); k != Object {
		return &ValueError{"data", "must be a JSON object, not " + k.String(), ErrNotObject}
	}
	return nil
}

// Watcher is what a backend offers that can tell whether its content may have
// changed, by whomever. Two equal tokens mean that it has not.
type Watcher interface {
	ChangeToken(ctx context.Context) (string, error)
}

// BatchAppender is what a tree store offers that can append many nodes at once.
type BatchAppender interface {
	// AppendAll appends nodes in their order, so that parents may come before their
	// children: each as Append does, and all of them or none.
	AppendAll(ctx context.Context, session string, nodes []Node) error
}
