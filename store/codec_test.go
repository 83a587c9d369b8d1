package store

import (
	"strings"
	"testing"
)

// The one-pass parse of an object takes exactly the objects that ParseJSON takes.
func TestCodecAgreesWithParseJSON(t *testing.T) {
	texts := []string{
		``, ` `, `null`, `[1,2]`, `"x"`, `7`, `{}`, ` { } `, `{"a":1}`, `{"a":1} `, `{"a":1}}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `{"a":1,"a":2}`, `{"a":[1,{"b":"}"}],"c":NaN,"d":-Infinity}`, `{"a":01}`, `{"\u0061":"\ud800"}`, `{"a":"\x"}`,
		"{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"id":"x","status":"RUNN`, `{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"{\n\t\"a\" : 1 ,\r\n \"b\" : { } }", `{"a":1}x`, `{"a":tru}`, `{a:1}`, `{"a":1`, `{"a":1,`, `{`, `{"`,
	}
	base := `{"id":"e","status":"DONE","context":{"a":[1,"x\n"],"b":null},"version":3}`
	for i := range base {
		texts = append(texts, base[:i], base[:i]+base[i+1:], base[:i]+`"`+base[i:], base[:i]+`}`+base[i:])
	}
	for _, text := range texts {
		j, err := ParseJSON(text)
		wantOK := err == nil && j.Kind() == Object
		c, cerr := newCodec("execution", text, nil, nil)
		if (cerr == nil) != wantOK {
			t.Errorf("%.60q: codec says %v, ParseJSON %v of %v", text, cerr, err, j.Kind())
			continue
		}
		if !wantOK {
			continue
		}
		for key := range j.Members() {
			if got, want := c.get(key), j.Get(key); got != want {
				t.Errorf("%.60q: %q is %.40q, want %.40q", text, key, got, want)
			}
		}
	}
}

// A summary is the same whether it is read off the row or off the execution.
func TestSummaryOfRowAgrees(t *testing.T) {
	const text = `{"id":"other","definition_id":"d","x":1,"status":"done","status":"FAILED","outcome":"o","error":null,"active_path":"a","root_path":"r",` +
		`"version":"9","parent_id":"p","created_at":1,"updated_at":2.0,"finished_at":null,"expires_at":3,"context":{"status":"x"}}`
	exe, err := DecodeExecutionRow("e", "d", 4, text)
	if err != nil {
		t.Fatal(err)
	}
	got, want := SummaryOfRow("e", "d", 4, []byte(text)), SummaryOf(exe)
	if got.Bad != nil || got.ID != want.ID || got.DefinitionID != want.DefinitionID || got.Status != want.Status || *got.Outcome != *want.Outcome ||
		got.Error != nil || *got.ActivePath != *want.ActivePath || got.RootPath != want.RootPath || got.Version != want.Version ||
		*got.ParentID != *want.ParentID || got.CreatedAt != want.CreatedAt || got.UpdatedAt != want.UpdatedAt ||
		got.FinishedAt != want.FinishedAt || got.ExpiresAt != want.ExpiresAt || len(got.Drift) != 2 || len(want.Drift) != 2 ||
		got.Drift[0] != want.Drift[0] || got.Drift[1] != want.Drift[1] {
		t.Errorf("summary of the row\n%+v\nof the execution\n%+v", got, want)
	}
}

// What a load refuses the list shows as a bad row, and the other way round.
func TestSummaryIsBadWhereALoadFails(t *testing.T) {
	for blob, sound := range map[string]bool{
		`{}`: true, `{"context":5}`: false, `{"deferred":{}}`: false, `{"priority":"x"}`: false, `{"priority":"3"}`: true,
		`{"definition_fqn":5}`: false, `{"version":"abc"}`: true, `{"id":7}`: true, `{"children":null}`: true,
		`{"processed_events":3.5}`: false, `{"status":null}`: false, `{"history":[]}`: false, `{"parent_id":3}`: false,
		`[]`: false, ``: false,
	} {
		s := SummaryOfRow("x", "d", 1, []byte(blob))
		_, err := DecodeExecutionRow("x", "d", 1, blob)
		if (s.Bad == nil) != sound || (err == nil) != sound {
			t.Errorf("%s: summary %v, load %v; want sound %v", blob, s.Bad, err, sound)
		}
	}
}
