package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// View is a filter with a name.
type View struct {
	Name    string
	Subject Subject
	Filter  *Query
	Sort    Sort
}

// Sort is the order of a view. The zero value is the list's own.
type Sort struct {
	// By is a field of the subject, "time", or "score" for the best fit of the words;
	// "" is the order of the list.
	By   string
	Desc bool
}

// String is how a view's sort is written: a minus before it turns it round.
func (s Sort) String() string {
	if s.Desc {
		return "-" + s.By
	}
	return s.By
}

// maxViewName bounds a view's name, in code points.
const maxViewName = 60

// ViewError is a mistake in the text of saved views.
type ViewError struct {
	Line    int // from 1
	View    string
	Message string
	Err     error // an *[Error] where the mistake is in a filter
}

func (e *ViewError) Error() string {
	s := fmt.Sprintf("line %d: ", e.Line)
	if e.View != "" {
		s += fmt.Sprintf("view %q: ", e.View)
	}
	if e.Message != "" {
		s += e.Message
	}
	if e.Err != nil {
		s += e.Err.Error()
	}
	return s
}

func (e *ViewError) Unwrap() error { return e.Err }

// ParseViews reads the [[view]] tables of a TOML text; whatever else stands in it is
// somebody else's. A view has a name, a subject, a filter, and where it is wanted a
// sort. The views without a mistake are returned together with all mistakes, each a
// *[ViewError], joined.
func ParseViews(text []byte) ([]View, error) {
	var file struct {
		View []map[string]any `toml:"view"`
	}
	if err := toml.Unmarshal(text, &file); err != nil {
		return nil, tomlError(err)
	}
	lines := viewLines(text)
	var views []View
	var mistakes []error
	seen := map[string]int{}
	for i, members := range file.View {
		at := viewPlace{line: 1}
		if i < len(lines) {
			at = lines[i]
		}
		v, err := viewOf(members, at)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		key := v.Subject.String() + " " + v.Name
		if line, twice := seen[key]; twice {
			mistakes = append(mistakes, &ViewError{at.of("name"), v.Name, fmt.Sprintf("%s have a view of that name already, at line %d", v.Subject, line), nil})
			continue
		}
		seen[key] = at.of("name")
		views = append(views, v)
	}
	return views, errors.Join(mistakes...)
}

func tomlError(err error) error {
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, _ := decode.Position()
		return &ViewError{Line: max(line, 1), Message: strings.TrimPrefix(decode.Error(), "toml: ")}
	}
	return &ViewError{Line: 1, Message: err.Error()}
}

func viewOf(members map[string]any, at viewPlace) (View, error) {
	texts := map[string]string{}
	name, _ := members["name"].(string)
	fail := func(key, format string, args ...any) (View, error) {
		return View{}, &ViewError{at.of(key), name, fmt.Sprintf(format, args...), nil}
	}
	known := []string{"name", "subject", "filter", "sort"}
	keys := make([]string, 0, len(members))
	for key := range members {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !slices.Contains(known, key) {
			hint := "it has " + strings.Join(known, ", ")
			if near := nearest(key, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			return fail(key, "a view has no %q; %s", key, hint)
		}
		s, ok := members[key].(string)
		if !ok {
			return fail(key, "%s takes text in quotes", key)
		}
		texts[key] = s
	}
	switch {
	case strings.TrimSpace(name) == "":
		return fail("name", "the view has no name")
	case utf8.RuneCountInString(name) > maxViewName:
		return fail("name", "the name has more than %d letters", maxViewName)
	case texts["subject"] == "":
		return fail("subject", "the subject is missing: one of %s", strings.Join(subjectNames[:], ", "))
	}
	v := View{Name: name}
	var ok bool
	if v.Subject, ok = SubjectNamed(texts["subject"]); !ok {
		return fail("subject", "there is no subject %q; there are %s", texts["subject"], strings.Join(subjectNames[:], ", "))
	}
	var err error
	if v.Filter, err = Parse(texts["filter"], v.Subject); err != nil {
		return View{}, &ViewError{at.of("filter"), name, "filter: ", err}
	}
	if v.Sort, ok = sortOf(texts["sort"], v.Subject); !ok {
		return fail("sort", "%s cannot be sorted by %q; they can by %s", v.Subject.Entries(), texts["sort"], strings.Join(Sorts(v.Subject), ", "))
	}
	return v, nil
}

// Sorts lists what a view of the subject can be sorted by.
func Sorts(s Subject) []string {
	var by []string
	for _, f := range fieldsOf(s) {
		switch f.info().form {
		case exactText, foldText, pathText, proseText, number:
			if f != fieldText { // it is many texts
				by = append(by, f.info().name)
			}
		default:
		}
	}
	return append(by, "time", "score")
}

func sortOf(text string, s Subject) (Sort, bool) {
	by, desc := strings.CutPrefix(text, "-")
	return Sort{by, desc}, text == "" || slices.Contains(Sorts(s), by)
}

// viewPlace is where a view stands: its own line and those of its members.
type viewPlace struct {
	line int
	keys map[string]int
}

func (p viewPlace) of(key string) int {
	if line, ok := p.keys[key]; ok {
		return line
	}
	return p.line
}

// viewLines finds the lines of the views in a text that parses, in their order.
func viewLines(text []byte) []viewPlace {
	var places []viewPlace
	var p unstable.Parser
	p.Reset(text)
	line := func(n *unstable.Node) int { return p.Shape(n.Raw).Start.Line }
	inside := false
	for p.NextExpression() {
		e := p.Expression()
		it := e.Key()
		if !it.Next() {
			continue
		}
		first := it.Node()
		isView, longer := string(first.Data) == "view", it.Next()
		switch e.Kind {
		case unstable.ArrayTable:
			if inside = isView && !longer; inside {
				places = append(places, viewPlace{line(first), map[string]int{}})
			}
		case unstable.Table:
			inside = false
		case unstable.KeyValue:
			if inside {
				places[len(places)-1].keys[string(first.Data)] = line(first)
				continue
			}
			// view = [{name = "x"}, ...] at the top
			if isView && !longer && len(places) == 0 && e.Value().Kind == unstable.Array {
				for items := e.Value().Children(); items.Next(); {
					places = append(places, viewPlace{line: line(first)})
				}
			}
		default:
		}
	}
	return places
}

// BuiltinViews are the views that every list of the subject has.
func BuiltinViews(s Subject) []View {
	var views []View
	add := func(name, filter, sort string) {
		q, err := Parse(filter, s)
		by, ok := sortOf(sort, s)
		if err != nil || !ok { // a test parses all of them
			panic(fmt.Sprintf("view %q of %s: %v", name, s, err))
		}
		views = append(views, View{name, s, q, by})
	}
	switch s {
	case Sessions:
		add("expiring", "since:now before:+1h", "time")
		add("kept", "not has:time", "")
	case Nodes:
		add("heads", "heads()", "")
		add("only branch points", "forks()", "")
		add("recent", "since:1h", "-time")
		add("only user turns", "data.role:user", "")
		add("only errors", "data.failed:true or has:data.error", "")
	case Executions:
		add("failed", "status:failed", "")
		add("running", "status:running", "")
		add("parked", "status:suspended or status:running children>0", "")
		add("finished", "status:done or status:cancelled", "")
		add("roots", "roots()", "")
		add("unreadable", "has:row_error", "")
	case Steps:
		add("changes of state", "has:to", "")
		add("timeouts", "event:Timeout", "")
		add("recent", "since:10m", "")
	case Outbox:
		add("for nobody", "not has:target", "")
		add("cancellations", "event:Cancel", "")
		add("waiting long", "before:10m", "time")
	case Spawns:
		add("unreadable", "has:row_error", "")
	case Timers:
		add("overdue", "before:now", "time")
		add("within the hour", "since:now before:+1h", "time")
	default:
	}
	return views
}
