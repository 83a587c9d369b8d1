package store

import (
	"strings"
	"unsafe"
)

// Summary is what lists, counts, families and filters know of an execution.
type Summary struct {
	ID           string
	DefinitionID string
	Status       Status // "" where the blob could not be read
	Outcome      *string
	Error        *string
	ActivePath   *string
	RootPath     string
	Version      int64
	ParentID     *string
	CreatedAt    JSON // epoch seconds as written, null or absent
	UpdatedAt    JSON
	FinishedAt   JSON
	ExpiresAt    JSON
	Drift        []Drift
	// Bad is set where the row could not be read whole. The columns are still there.
	Bad *RowError
}

// SummaryOf is the summary of an execution in hand.
func SummaryOf(e *Execution) Summary {
	c := e.Clone()
	return Summary{
		ID: c.ID, DefinitionID: c.DefinitionID, Status: c.Status, Outcome: c.Outcome, Error: c.Error,
		ActivePath: c.ActivePath, RootPath: c.RootPath, Version: c.Version, ParentID: c.ParentID,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, FinishedAt: c.FinishedAt, ExpiresAt: c.ExpiresAt, Drift: c.Drift,
	}
}

// SummaryOfRow reads the summary out of a row. It never fails: what could not be
// read is in Bad, so that one bad row is one bad row. It keeps nothing of data.
func SummaryOfRow(id, definitionID string, version int64, data []byte) Summary {
	var q quickRow
	if !q.read(id, definitionID, version, view(data)) {
		return slowSummary(id, definitionID, version, string(data))
	}
	q.detach()
	return q.summary(id, definitionID, version)
}

// SummaryOfText is SummaryOfRow for a blob in hand as a string, of which the
// summary's texts are parts.
func SummaryOfText(id, definitionID string, version int64, data string) Summary {
	var q quickRow
	if !q.read(id, definitionID, version, data) {
		return slowSummary(id, definitionID, version, data)
	}
	return q.summary(id, definitionID, version)
}

// StatusOfRow is the Status of the row's summary, and whether that has nothing Bad.
func StatusOfRow(id, definitionID string, version int64, data []byte) (status Status, readable bool) {
	var q quickRow
	if q.read(id, definitionID, version, view(data)) {
		if known := knownStatus(q.status); known != "" {
			return known, true
		}
		return Status(strings.Clone(string(q.status))), true
	}
	s := slowSummary(id, definitionID, version, string(data))
	return s.Status, s.Bad == nil
}

// SummaryOfBlob is the summary of an execution of which the store keeps nothing but
// the blob, under its id: definition id and version are the blob's own. It never
// fails and keeps nothing of data, as [SummaryOfRow].
func SummaryOfBlob(id, data string) Summary {
	q := quickRow{own: true}
	if !q.read(id, "", 0, data) {
		definitionID, version, err := ownColumns(data)
		s := slowSummary(id, definitionID, version, data)
		if err != nil {
			s.Bad = &RowError{Table: "executions", Key: id, Err: err, Raw: []byte(data)}
			s.Drift = nil // from what could not be read
		}
		return s
	}
	q.detach()
	return q.summary(id, strings.Clone(q.definitionID), q.version)
}

// ownColumns reads out of a blob what other stores have columns for.
func ownColumns(data string) (definitionID string, version int64, err error) {
	c, err := newCodec("execution", data, nil, func(key string) bool { return key == "definition_id" || key == "version" })
	if err != nil {
		return "", 0, err
	}
	definitionID, version = c.text("definition_id", ""), c.integer("version")
	return definitionID, version, c.err
}

// VersionOfBlob is the version that a blob says it has, 0 where it says nothing. The
// error is that of a blob which is no JSON object or has no whole number there.
func VersionOfBlob(data string) (int64, error) {
	c, err := newCodec("execution", data, nil, func(key string) bool { return key == "version" })
	if err != nil {
		return 0, err
	}
	version := c.integer("version")
	return version, c.err
}

// DecodeExecutionBlob reads the blob that a store keeps under an id. Another id in it
// is noted in Drift.
func DecodeExecutionBlob(id, data string) (*Execution, error) {
	e, err := DecodeExecution(data)
	if err != nil {
		return nil, err
	}
	if e.ID != id {
		e.Drift = drift(id, e.DefinitionID, e.Version, e.members)
		e.ID, e.readID = id, id
	}
	return e, nil
}

// view is data as a string that must not outlive the call, nor data's next change.
func view(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// slowSummary reads any row, and knows what is wrong with it. data may be kept.
func slowSummary(id, definitionID string, version int64, data string) Summary {
	s := Summary{ID: id, DefinitionID: definitionID, Version: version}
	var room [usualMembers]Member
	c, err := newCodec("execution", data, room[:0], isMember)
	if err != nil {
		s.Bad = &RowError{Table: "executions", Key: id, Err: err, Raw: []byte(data)}
		return s
	}
	var e Execution
	c.execution(&e)
	s.Status, s.Outcome, s.Error = e.Status, e.Outcome, e.Error
	s.ActivePath, s.ParentID, s.RootPath = e.ActivePath, e.ParentID, e.RootPath
	s.CreatedAt, s.UpdatedAt, s.FinishedAt, s.ExpiresAt = e.CreatedAt, e.UpdatedAt, e.FinishedAt, e.ExpiresAt
	s.Drift = drift(id, definitionID, version, c.members)
	if c.err != nil {
		s.Bad = &RowError{Table: "executions", Key: id, Err: c.err, Raw: []byte(data)}
	}
	return s
}

// isMember says which members an execution is made of. A summary reads all of
// them: what would fail a load is to be seen in the list.
func isMember(key string) bool { return memberOf(key) >= 0 }

// The members of an execution, those first that a summary keeps.
const (
	atOutcome = iota
	atError
	atActivePath
	atParentID
	keptTexts // how many those are

	atCreatedAt = iota - 1
	atUpdatedAt
	atFinishedAt
	atExpiresAt
	atStatus
	atRootPath
	atID
	atDefinitionID
	atVersion
	atDefinitionFQN
	atChildID
	atProcessedEvents
	atPriority
	atHistory
	atContext
	atChildren
	atInvokeSeq
	atDeferred
)

// memberOf is the number of a member, -1 for one that an execution has not.
func memberOf(key string) int {
	switch key {
	case "outcome":
		return atOutcome
	case "error":
		return atError
	case "active_path":
		return atActivePath
	case "parent_id":
		return atParentID
	case "created_at":
		return atCreatedAt
	case "updated_at":
		return atUpdatedAt
	case "finished_at":
		return atFinishedAt
	case "expires_at":
		return atExpiresAt
	case "status":
		return atStatus
	case "root_path":
		return atRootPath
	case "id":
		return atID
	case "definition_id":
		return atDefinitionID
	case "version":
		return atVersion
	case "definition_fqn":
		return atDefinitionFQN
	case "child_id":
		return atChildID
	case "processed_events":
		return atProcessedEvents
	case "priority":
		return atPriority
	case "history":
		return atHistory
	case "context":
		return atContext
	case "children":
		return atChildren
	case "invoke_seq":
		return atInvokeSeq
	case "deferred":
		return atDeferred
	}
	return -1
}

// quickRow is what a summary takes from a blob that is as programs write it.
type quickRow struct {
	status   Status
	rootPath string
	texts    [keptTexts]string // by number; only where has says so
	has      [keptTexts]bool
	stamps   [4]JSON

	own          bool // there are no columns: the two below are read out of the blob
	definitionID string
	version      int64
}

// read reads the blob in one pass and keeps parts of it. It is false where the blob
// is not as programs write it: no object, a member twice or of another kind than it
// should be, an id, definition id or version other than the columns'. Such a row is
// for slowSummary, which comes to the same wherever both can read.
func (q *quickRow) read(id, definitionID string, version int64, data string) bool {
	q.status = Pending // harel's default
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return false
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return skipSpace(data, i+1) == len(data)
	}
	var seen uint32 // members, by number
	for {
		if i >= len(data) || data[i] != '"' {
			return false
		}
		end, plain := textEnd(data, i)
		if end < 0 || !plain { // with escapes it may be any
			return false
		}
		at := memberOf(data[i+1 : end-1])
		if i = colonEnd(data, end); i < 0 {
			return false
		}
		if end = valueEnd(data, i); end < 0 {
			return false
		}
		if at >= 0 {
			if seen&(1<<at) != 0 || !q.member(at, data[i:end], id, definitionID, version) {
				return false
			}
			seen |= 1 << at
		}
		if i = end; i < len(data) && data[i] <= ' ' {
			i = skipSpace(data, i)
		}
		if i >= len(data) {
			return false
		}
		if data[i] == '}' {
			return skipSpace(data, i+1) == len(data)
		}
		if data[i] != ',' {
			return false
		}
		if i++; i < len(data) && data[i] <= ' ' {
			i = skipSpace(data, i)
		}
	}
}

// member takes one member, and says whether it is of the kind it should be. A value
// is told by its first byte, for it was scanned.
func (q *quickRow) member(at int, value, id, definitionID string, version int64) bool {
	switch at {
	case atOutcome, atError, atActivePath, atParentID:
		if value[0] == 'n' {
			return true
		}
		if value[0] != '"' {
			return false
		}
		q.texts[at], q.has[at] = unquote(value), true
	case atCreatedAt, atUpdatedAt, atFinishedAt, atExpiresAt:
		q.stamps[at-atCreatedAt] = JSON(value)
	case atStatus:
		if value[0] != '"' {
			return false
		}
		q.status = Status(unquote(value))
	case atRootPath:
		if value[0] != '"' {
			return false
		}
		q.rootPath = unquote(value)
	case atID:
		return value[0] == '"' && value[1:len(value)-1] == id && strings.IndexByte(id, '\\') < 0
	case atDefinitionID:
		if q.own {
			if value[0] != '"' || strings.IndexByte(value, '\\') >= 0 {
				return false
			}
			q.definitionID = value[1 : len(value)-1]
			return true
		}
		return value[0] == '"' && value[1:len(value)-1] == definitionID && strings.IndexByte(definitionID, '\\') < 0
	case atVersion:
		n, ok := plainInt(value)
		if q.own {
			q.version = n
			return ok
		}
		return ok && n == version
	case atDefinitionFQN, atChildID:
		return value[0] == '"' || value[0] == 'n'
	case atProcessedEvents, atPriority:
		_, ok := plainInt(value)
		return ok
	case atHistory, atContext, atChildren, atInvokeSeq:
		return value[0] == '{' || value[0] == 'n'
	case atDeferred:
		return value[0] == '[' || value[0] == 'n'
	}
	return true
}

// plainInt reads a number that is not negative and of less than 19 digits.
func plainInt(text string) (n int64, ok bool) {
	if len(text) > 18 {
		return 0, false
	}
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = 10*n + int64(c)
	}
	return n, true
}

// knownStatus is the word as this program has it in memory anyway, "" for one of
// somebody else's.
func knownStatus(word Status) Status {
	switch word {
	case Pending:
		return Pending
	case Running:
		return Running
	case Done:
		return Done
	case Cancelled:
		return Cancelled
	case Suspended:
		return Suspended
	case Cancelling:
		return Cancelling
	case Failed:
		return Failed
	}
	return ""
}

// detach puts what is kept into memory of its own.
func (q *quickRow) detach() {
	if known := knownStatus(q.status); known != "" {
		q.status = known
	} else {
		q.status = Status(strings.Clone(string(q.status)))
	}
	size := len(q.rootPath)
	for _, t := range q.texts {
		size += len(t)
	}
	for _, t := range q.stamps {
		size += len(t)
	}
	if size == 0 {
		return
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(q.rootPath)
	for _, t := range q.texts {
		b.WriteString(t)
	}
	for _, t := range q.stamps {
		b.WriteString(string(t))
	}
	all := b.String()
	cut := func(n int) (part string) {
		part, all = all[:n], all[n:]
		return part
	}
	q.rootPath = cut(len(q.rootPath))
	for i, t := range q.texts {
		q.texts[i] = cut(len(t))
	}
	for i, t := range q.stamps {
		q.stamps[i] = JSON(cut(len(t)))
	}
}

func (q *quickRow) summary(id, definitionID string, version int64) Summary {
	return Summary{
		ID: id, DefinitionID: definitionID, Version: version, Status: q.status, RootPath: q.rootPath,
		Outcome: q.text(atOutcome), Error: q.text(atError), ActivePath: q.text(atActivePath), ParentID: q.text(atParentID),
		CreatedAt: q.stamps[0], UpdatedAt: q.stamps[1], FinishedAt: q.stamps[2], ExpiresAt: q.stamps[3],
	}
}

func (q *quickRow) text(at int) *string {
	if !q.has[at] {
		return nil
	}
	t := q.texts[at]
	return &t
}
