package sqlite

import (
	"strings"
	"testing"

	"treering/store"
)

// What the filter selects is never left out beforehand, whatever the text is like.
func TestPreselectIsASuperset(t *testing.T) {
	statuses := []string{
		``, `"status":"FAILED"`, `"status" : "failed"`, `"status":"\u0046AILED"`, `"st\u0061tus":"FAILED"`, `"status":"FAILED","status":"DONE"`,
		`"status":"DONE","status":"FAILED"`, `"status":null`, `"status":7`, `"status":"a/b"`, `"status":"a\/b"`, `"status":"\u212Aelvin"`, "\"status\":\"\u212Aelvin\"",
		`"status":"x\"y"`, `"status":["FAILED"]`, `"status":{"status":"FAILED"}`, `"mystatus":"FAILED"`, `"mystatus":"DONE","status":"FAILED"`, `"status":"DONE","mystatus":"FAILED"`, `"\"status":"FAILED"`, `"k":"status","status":"PENDING"`, `"key":"status"`,
	}
	parents := []string{``, `"parent_id":"p"`, `"parent_id":"\u0070"`, `"parent_id":"a\"b"`, `"parent_id":null`, `"parent_id":3`, `"parent_id":"p","parent_id":"q"`}
	others := []string{``, `"context":{"status":"FAILED","parent_id":"p"}`, `"context":{"t":"\"status\":\"FAILED\""}`, `"x":[{"status":"DONE"}]`, `"error":"a\nb"`, `"outcome":5`, `"x":[1,{"y":"}]"}]`}
	var texts []string
	for _, s := range statuses {
		for _, p := range parents {
			for _, o := range others {
				for _, order := range [][]string{{s, p, o}, {o, p, s}} {
					var members []string
					for _, m := range order {
						if m != "" {
							members = append(members, m)
						}
					}
					texts = append(texts, "{"+strings.Join(members, ",")+"}", "{ "+strings.Join(members, " , ")+" }")
				}
			}
		}
	}
	for _, text := range texts[:len(texts):len(texts)] {
		texts = append(texts, text[:len(text)/2], text+"x", text+"\xff")
	}
	texts = append(texts, ``, `null`, `[]`, `"status"`, `{"status"`, `{"status":`, `{"status":"`)
	word := func(words ...store.Status) []store.Status { return words }
	filters := []store.ExecutionFilter{
		{Status: word("FAILED")}, {Status: word("failed", "x")}, {Status: word("PENDING")}, {Status: word("pending", "DONE")}, {Status: word("a/b")},
		{Status: word("KELVIN")}, {Status: word("")}, {Status: word(`x"y`)},
	}
	for _, id := range []string{"p", "q", `a"b`, ""} {
		filters = append(filters, store.ExecutionFilter{ParentID: &id}, store.ExecutionFilter{ParentID: &id, Status: word("FAILED", "DONE")})
	}
	selected, left := 0, 0
	for _, text := range texts {
		s := store.SummaryOfRow("e", "d", 1, []byte(text))
		for _, f := range filters {
			may, does := preselect(f, []byte(text)), f.Selects(s)
			if does && !may {
				t.Errorf("%s is left out of %s", text, f.Scope())
			}
			if does {
				selected++
			}
			if !may {
				left++
			}
		}
		// What is written plainly is known without the summary, or little is gained.
		if _, sure := statusOf([]byte(text)); !sure && s.Bad == nil && !strings.ContainsAny(text, `\`) && !lax(text) {
			t.Errorf("%s: not sure of a plain text", text)
		}
		if status, sure := statusOf([]byte(text)); sure && s.Bad == nil && string(status) != string(s.Status) {
			t.Errorf("%s: status %q, in the summary %q", text, status, s.Status)
		} else if sure && s.Bad != nil {
			if _, err := store.ParseJSON(text); err == nil {
				t.Errorf("%s: sure of status %q, but the summary is bad: %v", text, status, s.Bad)
			}
		}
	}
	if selected == 0 || left < len(texts)*len(filters)/4 {
		t.Errorf("of %d pairs %d are selected and %d left out beforehand", len(texts)*len(filters), selected, left)
	}
}

// lax reports whether a text has a member that is good only in a second reading.
func lax(text string) bool {
	for _, m := range []string{`:3.0`, `:"3"`, `9223372036854775807`, `"context":5,"context"`} {
		if strings.Contains(text, m) {
			return true
		}
	}
	return strings.Trim(text, "{ }") == ""
}
