package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"treering/store/locate"
)

func TestParse(t *testing.T) {
	yes, no := true, false
	c, problems := Parse([]byte(`# mine
theme = "dark"
ascii = true
mouse = false
zone = "utc"
editor = "vi -u NONE"

[keys]
zoom = ["x", "ctrl+x", "g x"]
fire = []
quit = "Q"

[views]
stuck = "status:failed or status:suspended"
"the new ones" = "since:10m"
`))
	want := Config{
		Theme: "dark", ASCII: &yes, Mouse: &no, Zone: time.UTC, Editor: "vi -u NONE",
		Keys:  map[string][]string{"zoom": {"x", "ctrl+x", "g x"}, "fire": {}, "quit": {"Q"}},
		Views: map[string]string{"stuck": "status:failed or status:suspended", "the new ones": "since:10m"},
	}
	if len(problems) > 0 || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\n%v", c, problems)
	}
}

func TestWhatIsWrongIsSaidWithItsPlace(t *testing.T) {
	for text, want := range map[string][]string{
		"":                           nil,
		"theme = ":                   {":1:8: expected value, not end of input; the defaults are used"},
		"a = 1\nmouse = yes\n":       {":2:9: unexpected character U+0079 'y' at start of value; the defaults are used"},
		"\n  mouse = \"yes\"\n":      {":2:3: mouse: is true or false, not a text"},
		"theem = \"dark\"":           {":1:1: theem: is no setting; is it theme?"},
		"colours = 3":                {":1:1: colours: is no setting; there are theme, ascii, mouse, zone, editor, keys, views, view"},
		"zone = \"Mars/Olympus\"":    {`:1:1: zone: "Mars/Olympus" is no time zone known here; local, utc, or a name such as Europe/Paris`},
		"zone = 3\ntheme = [1]":      {":1:1: zone: is a text in quotes, not a number", ":2:1: theme: is a text in quotes, not a list"},
		"[keys]\nzoom = 3\nup = [1]": {`:2:1: keys.zoom: is a list of keys such as ["x", "ctrl+x", "g x"], not a number`, ":3:1: keys.up: keys are texts in quotes, not a number"},
		"keys.zoom = true":           {`:1:1: keys.zoom: is a list of keys such as ["x", "ctrl+x", "g x"], not true or false`},
		"keys = 1":                   {`:1:1: keys: is a table of intents and keys: [keys], then zoom = ["x", "ctrl+x"]`},
		"[views]\nx = 1979-05-27":    {":2:1: views.x: is a text in quotes, not a date or time"},
		"views = { x = 1 }":          {":1:1: views.x: is a text in quotes, not a number"},
		"view = 3":                   {":1:1: view: is a list of tables: [[view]], then name, subject and filter"},
		"[[view]]\nname = \"x\"\nsubject = \"nodes\"\nfilter = \"depth>x\"\n[[view]]\nsubject = 3": {
			`:4:1: view.x: filter: at column 7: depth takes a number, not "x"`, ":6:1: view: subject takes text in quotes"},
		"mouse = true\nmouse = false\n": {":2:1: key mouse is already defined; the defaults are used"},
	} {
		_, problems := Parse([]byte(text))
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}

// One mistake costs one setting.
func TestTheRestCounts(t *testing.T) {
	c, problems := Parse([]byte("mouse = 3\ntheme = \"light\"\n[keys]\nup = 1\ndown = [\"n\"]\n"))
	if len(problems) != 2 || c.Theme != "light" || c.Mouse != nil || !reflect.DeepEqual(c.Keys, map[string][]string{"down": {"n"}}) {
		t.Errorf("%+v %v", c, problems)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	env := locate.Environ{"XDG_CONFIG_HOME=" + dir}
	path := filepath.Join(dir, "treering", "config.toml")
	c, problems := Load(env)
	if len(problems) > 0 || c.Found || c.Path != path {
		t.Errorf("without a file: %+v %v", c, problems)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("looking made the folder")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[keys]\n zoom = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, problems = Load(env)
	if want := path + `:2:2: keys.zoom: is a list of keys such as ["x", "ctrl+x", "g x"], not a number`; len(problems) != 1 || problems[0].String() != want || !c.Found {
		t.Errorf("%v, want %s", problems, want)
	}
	if line, column := At(path, "keys.zoom"); line != 2 || column != 2 {
		t.Errorf("at %d:%d", line, column)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, problems = Load(env); len(problems) != 1 {
		t.Errorf("a folder: %v", problems)
	}
	if c, problems = Load(locate.Environ{}); c.Found || c.Path != "" || len(problems) > 0 {
		t.Errorf("nowhere: %+v %v", c, problems)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("theme = 1\n[keys]\nx = [[], {}]\n"))
	f.Add([]byte("\xef\xbb\xbf[[keys]]\n[views.a.b]\n"))
	f.Fuzz(func(t *testing.T, text []byte) { Parse(text) })
}
