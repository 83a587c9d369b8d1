package query

import (
	"fmt"
	"strings"
)

// Subject is what is listed. It decides which fields a filter has.
type Subject uint8

// The subjects of filters.
const (
	Sessions Subject = iota
	Nodes
	Executions
	Steps
	Outbox
	Spawns
	Timers
	subjectCount
)

var subjectNames = [subjectCount]string{"sessions", "nodes", "executions", "steps", "outbox", "spawns", "timers"}

// String is the name of the subject, as saved views write it.
func (s Subject) String() string {
	if s >= subjectCount {
		return fmt.Sprintf("subject %d", uint8(s))
	}
	return subjectNames[s]
}

// Entries is the subject in the middle of a sentence.
func (s Subject) Entries() string {
	if s == Outbox {
		return "outbox entries"
	}
	return s.String()
}

// Subjects lists all of them.
func Subjects() []Subject {
	return []Subject{Sessions, Nodes, Executions, Steps, Outbox, Spawns, Timers}
}

// SubjectNamed returns the subject of that name.
func SubjectNamed(name string) (s Subject, ok bool) {
	for i, n := range subjectNames {
		if n == name {
			return Subject(i), true
		}
	}
	return 0, false
}

// field is what a test is about.
type field uint8

const (
	fieldNone field = iota
	fieldID
	fieldTitle
	fieldKind
	fieldProject
	fieldText
	fieldParent
	fieldDefinition
	fieldStatus
	fieldOutcome
	fieldState
	fieldError
	fieldEvent
	fieldFrom
	fieldTo
	fieldAction
	fieldNote
	fieldTarget
	fieldChild
	fieldExecution
	fieldPath
	fieldRowError
	fieldDepth
	fieldChildren
	fieldVersion
	fieldSeq
	fieldIndex
	fieldData
	fieldContext
	fieldSince
	fieldBefore
	fieldTime
	fieldHas
	fieldCount
)

// form is how a field's values compare.
type form uint8

const (
	exactText form = iota // ids and words of the store's own: byte for byte
	foldText              // status words: without regard to case
	pathText              // a state's path: itself and what lies below it
	proseText             // titles and messages: contained somewhere
	number
	document // JSON, reached by a path
	moment   // since and before
	presence // has
)

type fieldInfo struct {
	name     string
	form     form
	takes    string // what a value of it is, after "takes"
	about    string // for completion and help
	subjects uint16
	testable bool // may be tested by itself; what may not only stands after has:
}

// of is the set of those subjects.
func of(subjects ...Subject) uint16 {
	var set uint16
	for _, s := range subjects {
		set |= 1 << s
	}
	return set
}

// info describes a field.
func (f field) info() fieldInfo {
	id := "an id, in quotes where it has blanks or parentheses"
	state := "the path of a state, such as Fulfilment.Billing"
	count := "a number"
	when := "a span such as 10m, 2h or 3d, or a time such as 2026-11-30T12:00Z"
	switch f {
	case fieldID:
		return fieldInfo{"id", exactText, id, "the id, whole", of(Sessions, Nodes, Executions, Outbox), true}
	case fieldTitle:
		return fieldInfo{"title", proseText, "words of a title", "the title has it somewhere", of(Sessions, Nodes), true}
	case fieldKind:
		return fieldInfo{"kind", exactText, "a word such as run or stage", "the kind, whole", of(Sessions, Nodes), true}
	case fieldText:
		return fieldInfo{"text", proseText, "words of what was said", "what was said has it somewhere: any text of the message, or else of the data", of(Nodes), true}
	case fieldProject:
		return fieldInfo{"project", proseText, "part of a folder's path", "the folder that it is about has it somewhere", of(Sessions), true}
	case fieldParent:
		return fieldInfo{"parent", exactText, id, "the parent's id", of(Nodes, Executions, Spawns), true}
	case fieldDefinition:
		return fieldInfo{"definition", exactText, "the name of a definition", "the definition, whole", of(Executions), true}
	case fieldStatus:
		return fieldInfo{"status", foldText, "a word such as running, failed or done", "the status, in any case", of(Executions), true}
	case fieldOutcome:
		return fieldInfo{"outcome", exactText, "a word such as success", "the outcome, whole", of(Executions), true}
	case fieldState:
		return fieldInfo{"state", pathText, state, "the active state, or one below it", of(Executions), true}
	case fieldError:
		return fieldInfo{"error", proseText, "words of an error", "the error has it somewhere", of(Executions), true}
	case fieldEvent:
		return fieldInfo{"event", exactText, "the kind of an event, such as Timeout", "the event's kind, whole", of(Steps, Outbox), true}
	case fieldFrom:
		return fieldInfo{"from", pathText, state, "the state before, or one below it", of(Steps), true}
	case fieldTo:
		return fieldInfo{"to", pathText, state, "the state after, or one below it", of(Steps), true}
	case fieldAction:
		return fieldInfo{"action", exactText, "the name of an action", "one of the actions, whole", of(Steps), true}
	case fieldNote:
		return fieldInfo{"note", proseText, "words of a note", "the note has it somewhere", of(Steps), true}
	case fieldTarget:
		return fieldInfo{"target", exactText, id, "the execution that it is for", of(Outbox), true}
	case fieldChild:
		return fieldInfo{"child", exactText, id, "the execution that is to be made", of(Spawns), true}
	case fieldExecution:
		return fieldInfo{"execution", exactText, id, "the execution that it is armed for", of(Timers), true}
	case fieldPath:
		return fieldInfo{"path", pathText, state, "the state's path, or one below it", of(Spawns, Timers), true}
	case fieldRowError:
		return fieldInfo{"row_error", proseText, "", "the row could not be read", of(Executions, Steps, Outbox, Spawns, Timers), false}
	case fieldDepth:
		return fieldInfo{"depth", number, count, "the number of ancestors", of(Nodes, Executions), true}
	case fieldChildren:
		return fieldInfo{"children", number, count, "the number of children", of(Nodes, Executions), true}
	case fieldVersion:
		return fieldInfo{"version", number, count, "the version", of(Executions), true}
	case fieldSeq:
		return fieldInfo{"seq", number, count, "the number in the queue", of(Outbox, Spawns), true}
	case fieldIndex:
		return fieldInfo{"index", number, count, "the number in the ring", of(Steps), true}
	case fieldData:
		return fieldInfo{"data", document, "a number, true, false, null or a text", "a value in the data", of(Nodes, Steps, Outbox), true}
	case fieldContext:
		return fieldInfo{"context", document, "a number, true, false, null or a text", "a value in the context", of(Executions, Steps, Spawns), true}
	case fieldSince:
		return fieldInfo{"since", moment, when, "not older than", of(Subjects()...), true}
	case fieldBefore:
		return fieldInfo{"before", moment, when, "older than", of(Subjects()...), true}
	case fieldTime:
		return fieldInfo{"time", moment, "", "it has a time", of(Subjects()...), false}
	case fieldHas:
		return fieldInfo{"has", presence, "the name of a field or of a value in the data, such as data.error", "it is there and not null", of(Subjects()...), true}
	default:
	}
	return fieldInfo{}
}

func (f field) of(s Subject) bool { return f.info().subjects&(1<<s) != 0 }

// fieldsOf lists the fields that may be tested by themselves.
func fieldsOf(s Subject) []field {
	var fs []field
	for f := fieldNone + 1; f < fieldCount; f++ {
		if f.of(s) && f.info().testable {
			fs = append(fs, f)
		}
	}
	return fs
}

// fieldNamed finds a field by its name, whatever subject it is of.
func fieldNamed(name string) (field, bool) {
	for f := fieldNone + 1; f < fieldCount; f++ {
		if f.info().name == name {
			return f, true
		}
	}
	return fieldNone, false
}

// wordFields are what a word or a phrase is looked for in.
func (s Subject) wordFields() []field {
	switch s {
	case Sessions:
		return []field{fieldTitle, fieldID, fieldKind, fieldProject}
	case Nodes:
		return []field{fieldTitle, fieldID, fieldKind}
	case Executions:
		return []field{fieldID, fieldDefinition, fieldStatus, fieldState}
	case Steps:
		return []field{fieldEvent, fieldFrom, fieldTo, fieldAction}
	case Outbox:
		return []field{fieldEvent, fieldTarget, fieldID}
	case Spawns:
		return []field{fieldChild, fieldParent, fieldPath}
	case Timers:
		return []field{fieldExecution, fieldPath}
	default:
	}
	return nil
}

// timeAbout says which time of a row counts.
func (s Subject) timeAbout() string {
	switch s {
	case Sessions, Timers:
		return map[Subject]string{Sessions: "when they expire, else when their program wrote them last", Timers: "when they are to fire"}[s]
	case Nodes:
		return "data.ts, data.timestamp or data.created_at"
	case Executions:
		return "updated_at, else the last step of the trace"
	case Steps:
		return "the step's timestamp"
	case Outbox:
		return "the event's created_time, else data.ts, data.timestamp or data.created_at"
	default:
	}
	return "context.ts, context.timestamp or context.created_at"
}

// function is what stands before parentheses.
type function uint8

const (
	ancestors function = iota
	descendants
	heads
	roots
	forks
	functionCount
)

type functionInfo struct {
	name, about string
	takesID     bool
}

func (f function) info() functionInfo {
	switch f {
	case ancestors:
		return functionInfo{"ancestors", "the one named and what is above it", true}
	case descendants:
		return functionInfo{"descendants", "the one named and what is below it", true}
	case heads:
		return functionInfo{"heads", "those without children", false}
	case roots:
		return functionInfo{"roots", "those without a parent", false}
	default:
	}
	return functionInfo{"forks", "those with several children", false}
}

func functionNamed(name string) (function, bool) {
	for f := range functionCount {
		if f.info().name == name {
			return f, true
		}
	}
	return 0, false
}

// isTree reports whether the subject's rows are the nodes of trees.
func (s Subject) isTree() bool { return s == Nodes || s == Executions }

// Help says in a few lines which fields and functions a filter of the subject
// has, each line a tag, two blanks and what it is.
func Help(s Subject) string {
	var b strings.Builder
	words := s.wordFields()
	names := make([]string, len(words))
	for i, f := range words {
		names[i] = f.info().name
	}
	line := func(tag, about string) { fmt.Fprintf(&b, "%-18s  %s\n", tag, about) }
	line("word", "letters in that order in "+strings.Join(names, ", "))
	line(`"words"`, "exactly that text in one of them")
	for _, f := range fieldsOf(s) {
		info := f.info()
		switch info.form {
		case number:
			line(info.name+">N", info.about+"; also : = != < <= >=")
		case document:
			line(info.name+".PATH=VALUE", info.about+"; also != < <= > >= and ~ (contains)")
		case moment:
			line(info.name+":SPAN", info.about+", by "+s.timeAbout())
		case presence:
			line("has:FIELD", info.about)
		case exactText, foldText, pathText, proseText:
			line(info.name+":TEXT", info.about+"; also = != ~ (contains)")
		}
	}
	if s.isTree() {
		for f := range functionCount {
			info := f.info()
			arg := ""
			if info.takesID {
				arg = "ID"
			}
			line(info.name+"("+arg+")", info.about)
		}
	}
	line("not, or", "combine, with parentheses; what stands side by side must all be true")
	return strings.TrimRight(b.String(), "\n")
}
