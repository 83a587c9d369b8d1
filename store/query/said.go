package query

import "treering/store"

// saidIn lists the texts in a node's data that somebody or something has said: those of
// the message where there is one that is known as such, or else all.
func saidIn(data store.JSON) (texts []string) {
	in := data.Get("raw")
	if in.Kind() != store.Object {
		in = data
	}
	var todo []store.JSON
	for _, path := range [][]string{{"message"}, {"payload"}, {"checkpoint", "channel_values"}, {"content"}, {"summary"}} {
		if v := in.At(path...); !v.IsNull() {
			todo = append(todo, v)
		}
	}
	if todo == nil {
		todo = append(todo, in)
	}
	for len(todo) > 0 {
		j := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		from := len(todo)
		switch j.Kind() {
		case store.String:
			s, _ := j.Text()
			texts = append(texts, s)
		case store.Object:
			for key, v := range j.Members() {
				if !unsaid(key) {
					todo = append(todo, v)
				}
			}
		case store.Array:
			for v := range j.Elements() {
				todo = append(todo, v)
			}
		default:
		}
		for i, k := from, len(todo)-1; i < k; i, k = i+1, k-1 { // in their order
			todo[i], todo[k] = todo[k], todo[i]
		}
	}
	return texts
}

// unsaid reports whether a member holds what nobody reads: the bytes of a picture, a
// signature, the name of a type or a record.
func unsaid(key string) bool {
	switch key {
	case "data", "signature", "thinkingSignature", "encrypted_content", "type", "id", "tool_use_id", "toolCallId", "call_id", "model", "role":
		return true
	}
	return false
}
