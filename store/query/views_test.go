package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseViews(t *testing.T) {
	views, err := ParseViews([]byte(`# my views
theme = "dark"

[[view]]
name = "failed shops"
subject = "executions"
filter = "status:failed definition:shop"
sort = "-version"

[keys]
name = "not a view's"

[[ "view" ]]
name = 'late'
subject = "timers"
filter = '''before:now'''
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range views {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s", v.Name, v.Subject, v.Filter, v.Sort))
	}
	if want := "failed shops|executions|status:failed definition:shop|-version\nlate|timers|before:now|"; strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	for _, none := range []string{"", "a = 1", "[view]\n"[:0]} {
		if views, err := ParseViews([]byte(none)); len(views) > 0 || err != nil {
			t.Errorf("%q: %v, %v", none, views, err)
		}
	}
	views, err = ParseViews([]byte(`view = [{name = "a", subject = "nodes"}, {name = "b", subject = "nodes", filter = "heads()"}]`))
	if len(views) != 2 || err != nil || !views[0].Filter.Empty() {
		t.Errorf("an array of inline tables: %v, %v", views, err)
	}
}

func TestViewMistakes(t *testing.T) {
	for _, tt := range []struct {
		text, says string
	}{
		{"[[view]]\nname = \"a\"\nsubject = \"nodes\"\nfilter = \"kidn:run\"", `line 4: view "a": filter: at column 1: there is no field "kidn"; did you mean kind?`},
		{"\n\n[[view]]\nsubject = \"nodes\"", "line 3: the view has no name"},
		{"[[view]]\nname = \"\"\nsubject = \"nodes\"", "line 2: the view has no name"},
		{"[[view]]\nname = \"a\"", `line 1: view "a": the subject is missing: one of sessions, nodes`},
		{"[[view]]\nname = \"a\"\n\nsubject = \"trees\"", `line 4: view "a": there is no subject "trees"`},
		{"[[view]]\nname = \"a\"\nsubject = \"nodes\"\nsort = \"colour\"", `line 4: view "a": nodes cannot be sorted by "colour"; they can by id, title`},
		{"[[view]]\nname = \"a\"\nfliter = \"x\"", `line 3: view "a": a view has no "fliter"; did you mean filter?`},
		{"[[view]]\nname = \"a\"\n\"colour\" = \"x\"", `line 3: view "a": a view has no "colour"; it has name, subject, filter, sort`},
		{"[[view]]\nname = 3", "line 2: name takes text in quotes"},
		{"[[view]]\nname = \"" + strings.Repeat("x", 61) + "\"", "line 2: view"},
		{"[[view]]\nname = \"a\"\nsubject = \"nodes\"\n[[view]]\nname = \"a\"\nsubject = \"nodes\"", `line 5: view "a": nodes have a view of that name already, at line 2`},
		{"a = 1\n[[view]\n", "line 2: "},
		{"view = 3", "line 1: "},
		{"x = 1\nview = [{name = \"a\"}]", "line 2: "},
	} {
		views, err := ParseViews([]byte(tt.text))
		var mistake *ViewError
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.says)
		}
		if strings.Contains(tt.says, "filter:") {
			var at *Error
			if !errors.As(err, &at) || at.Column != 1 {
				t.Errorf("%q: the mistake in the filter is %v", tt.text, at)
			}
		}
		if len(views) > 1 {
			t.Errorf("%q: %v", tt.text, views)
		}
	}
	// One mistake does not take the other views, and all are told.
	views, err := ParseViews([]byte("[[view]]\nname=\"a\"\n[[view]]\nname=\"b\"\nsubject=\"nodes\"\n[[view]]\nname=\"c\"\nsubject=\"x\""))
	if len(views) != 1 || views[0].Name != "b" || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("%v, %v", views, err)
	}
}

func TestBuiltinViews(t *testing.T) {
	for _, s := range Subjects() {
		views := BuiltinViews(s)
		if len(views) == 0 {
			t.Errorf("%v have no views", s)
		}
		seen := map[string]bool{}
		for _, v := range views {
			if v.Subject != s || v.Name == "" || seen[v.Name] || v.Filter.Empty() {
				t.Errorf("view %+v of %v", v, s)
			}
			seen[v.Name] = true
			if _, err := v.Filter.Bind(Env{Now: noon, Tree: forest{}}); err != nil {
				t.Errorf("%q: %v", v.Name, err)
			}
		}
	}
}

func FuzzParseViews(f *testing.F) {
	f.Add([]byte("[[view]]\nname = \"a\"\nsubject = \"nodes\"\nfilter = \"heads()\"\n"))
	f.Add([]byte("view = [{name = \"a\"}]\n[other]\n\"view\".x = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		views, err := ParseViews(text)
		if err != nil && !strings.Contains(err.Error(), "line ") {
			t.Fatalf("%q: %v", text, err)
		}
		for _, v := range views {
			if v.Name == "" || v.Filter == nil {
				t.Fatalf("%q: %+v", text, v)
			}
		}
	})
}
