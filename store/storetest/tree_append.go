package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"treering/store"
)

func treeAppendCases() []treeCase {
	return []treeCase{
		{
			name: "nodes are kept as given",
			rule: "Contract, append: atomically inserts one node; its root has no parent",
			run: func(b *treeBundle) {
				root := rootNode("r")
				a := store.Node{ID: "a", ParentID: ptr("r"), Kind: "run", Data: ` {"z":1, "a":[1.0,1e2]}` + "\n"}
				b.create("example")
				b.append("example", root, a, childNode("b", "a"))
				b.sameNode("example", root)
				b.sameNode("example", a)
				b.equal("history", b.history("example", "b"), []string{"b", "a", "r"})
			},
		},
		{
			name: "a repeated delivery creates no duplicate",
			rule: "Contract, append: equal identity and contents succeed on retry",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a", "b")
				for range 3 {
					b.append("example", childNode("a", "r"), rootNode("r"))
				}
				b.append("example", childNode("c", "a"))
				b.append("example", childNode("a", "r"), rootNode("r")) // it has children by now
				b.equal("count", b.count("example"), int64(4))
			},
		},
		{
			name: "the answer of an append may be lost",
			rule: "Contract, calls: a lost response leaves the outcome unknown; retrying the append with the same prepared node settles it",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				prepared := childNode("a", "r")
				for range 20 {
					// The caller may go away at any moment: before, during or after the write.
					ctx, cancel := context.WithCancel(b.ctx)
					answer := make(chan error, 1)
					go func() { answer <- b.s.Append(ctx, "example", prepared) }()
					cancel()
					<-answer
					b.append("example", prepared)
					b.sameNode("example", prepared)
					b.equal("children", b.children("example", "r"), []string{"a"})
				}
			},
		},
		{
			name: "changed contents are a conflict",
			rule: "Contract, append: changed contents raise without overwriting; the reason says what differs",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a", "b")
				before := b.dump()
				node := func(id string, parent *string, kind string, data store.JSON) store.Node {
					return store.Node{ID: id, ParentID: parent, Kind: kind, Data: data}
				}
				a, r := childNode("a", "r"), rootNode("r")
				for _, c := range []struct {
					n      store.Node
					reason string
				}{
					{node("a", ptr("b"), a.Kind, a.Data), store.ReasonParent},
					{node("a", ptr("a"), a.Kind, a.Data), store.ReasonParent},
					{node("a", ptr("nobody"), a.Kind, a.Data), store.ReasonParent},
					{node("a", nil, a.Kind, a.Data), store.ReasonParent},
					{node("r", ptr("a"), r.Kind, r.Data), store.ReasonParent},
					{node("a", a.ParentID, "stage", a.Data), store.ReasonKind},
					{node("a", a.ParentID, "Run", a.Data), store.ReasonKind},
					{node("a", a.ParentID, a.Kind, `{"user":{"label":"second"}}`), store.ReasonData},
					{node("a", a.ParentID, a.Kind, `{}`), store.ReasonData},
					{node("r", nil, r.Kind, `{}`), store.ReasonData},
				} {
					b.conflict(b.s.Append(b.ctx, "example", c.n), "example", c.n.ID, c.reason)
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "a second root is a conflict",
			rule: "Contract, append: a tree has one root; a second one raises",
			run: func(b *treeBundle) {
				b.create("example")
				b.missing(b.s.Append(b.ctx, "example", childNode("a", "r")), store.NotFoundError{What: "parent", ID: "r", In: "example"})
				b.append("example", rootNode("r"), childNode("a", "r"))
				before := b.dump()
				b.conflict(b.s.Append(b.ctx, "example", rootNode("r2")), "example", "r2", store.ReasonSecondRoot)
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "the parent must be there",
			rule: "Contract, append: requires a parent in that tree; a missing one is an error of its own and nothing is written",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				b.seed("other", "o", "p")
				before := b.dump()
				for _, parent := range []string{"nobody", "o", "p", "a", "R"} { // of the other tree, itself, another case
					b.missing(b.s.Append(b.ctx, "example", childNode("a", parent)), store.NotFoundError{What: "parent", ID: parent, In: "example"})
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "the tree must be there",
			rule: "Contract, append: requires a live tree; appending to a missing tree raises and creates none",
			run: func(b *treeBundle) {
				b.noSession(b.s.Append(b.ctx, "nobody", rootNode("r")), "nobody")
				b.noSession(b.s.Append(b.ctx, "nobody", childNode("a", "r")), "nobody")
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"))
				b.clock.advance(11 * time.Second)
				b.noSession(b.s.Append(b.ctx, "example", rootNode("r")), "example") // not even a retry
				b.noSession(b.s.Append(b.ctx, "example", childNode("a", "r")), "example")
				b.equal("store", len(b.dump()), 0)
			},
		},
		{
			name: "trees do not share ids",
			rule: "a node belongs to its tree: equal ids in two trees are two nodes",
			run: func(b *treeBundle) {
				b.create("one")
				b.create("two")
				for _, session := range []string{"one", "two"} {
					n := rootNode("r")
					n.Data = store.JSON(`{"of":"` + session + `"}`)
					b.append(session, n)
				}
				b.append("two", childNode("a", "r"))
				b.equal("children in one", b.children("one", "r"), []string{})
				b.equal("data in one", b.node("one", "r").Data, store.JSON(`{"of":"one"}`))
				b.delete("one", true)
				b.equal("nodes in two", b.count("two"), int64(2))
			},
		},
		{
			name: "odd ids are ids",
			rule: "node ids and kinds are any valid UTF-8 without NUL, of up to 512 bytes: compared byte by byte, given back unchanged",
			run: func(b *treeBundle) {
				ids := oddIDs()
				b.create("example")
				b.append("example", rootNode("root"))
				for _, id := range ids {
					n := childNode(id, "root")
					n.Kind = id
					b.append("example", n)
					b.sameNode("example", n)
				}
				b.inOrder("children", b.children("example", "root"), ids)
				for i, id := range ids {
					below := numbered("below", i+1)[i]
					b.append("example", childNode(below, id))
					b.equal("children of odd", b.children("example", id), []string{below})
					b.equal("history below odd", b.history("example", below), []string{below, id, "root"})
				}
				slots, err := b.s.Nodes(b.ctx, "example", ids)
				b.ok(err)
				for i, slot := range slots {
					if slot == nil || slot.ID != ids[i] || slot.Kind != ids[i] {
						b.t.Fatalf("slot of %q is %v", ids[i], slot)
					}
				}
			},
		},
		{
			name: "fresh ids are taken",
			rule: "ids made by NewID are unique and fit everywhere; nothing relies on their order",
			run: func(b *treeBundle) {
				root := store.NewID()
				b.seed("example", root)
				for range 50 {
					b.append("example", childNode(store.NewID(), root))
				}
				b.equal("count", b.count("example"), int64(51))
			},
		},
	}
}

// equalData are pairs of texts with one value.
var equalData = [...][2]store.JSON{
	{`{"a":1,"b":2}`, `{"b":2,"a":1}`},
	{`{"a":{"x":[1,{"y":2,"z":3}]}}`, "{ \"a\" :\t{\"x\":[1,\r\n{\"z\":3,\"y\":2}]}}\n"},
	{`{"n":1}`, `{"n":1.0}`},
	{`{"n":1}`, `{"n":1e0}`},
	{`{"n":100}`, `{"n":1E+2}`},
	{`{"n":0}`, `{"n":-0.0e5}`},
	{`{"n":0.1}`, `{"n":1e-1}`},
	{`{"n":9007199254740993}`, `{"n":9007199254740993.0}`},
	{`{"n":123456789012345678901234567890}`, `{"n":1.2345678901234567890123456789e29}`},
	{`{"s":"A"}`, `{"s":"\u0041"}`},
	{`{"s":"/"}`, `{"s":"\/"}`},
	{`{"s":"é"}`, `{"s":"\u00e9"}`},
	{`{"s":"😀"}`, `{"s":"\ud83d\uDE00"}`},
	{`{"s":"\ud800"}`, `{"s":"\uD800"}`},
	{`{"a":1}`, `{"\u0061":1}`},
	{`{}`, ` { } `},
}

// differentData are pairs of texts with two values.
var differentData = [...][2]store.JSON{
	{`{"n":9007199254740993}`, `{"n":9007199254740992}`},
	{`{"n":123456789012345678901234567890}`, `{"n":123456789012345678901234567891}`},
	{`{"n":0.1}`, `{"n":0.10000000000000001}`},
	{`{"n":1e400}`, `{"n":1e401}`},
	{`{"n":1e-400}`, `{"n":0}`},
	{`{"n":1}`, `{"n":-1}`},
	{`{"n":1}`, `{"n":"1"}`},
	{`{"n":1}`, `{"n":true}`},
	{`{"n":0}`, `{"n":null}`},
	{`{"n":null}`, `{}`},
	{`{"n":[1,2]}`, `{"n":[2,1]}`},
	{`{"n":[]}`, `{"n":{}}`},
	{`{"n":[1]}`, `{"n":[1,1]}`},
	{`{"s":"\ud800"}`, `{"s":"\ufffd"}`},
	{`{"s":"\ud800"}`, `{"s":"\udfff"}`},
	{`{"s":"é"}`, `{"s":"e\u0301"}`},
	{`{"s":"a"}`, `{"s":"A"}`},
	{`{"a":1}`, `{"A":1}`},
}

func treeDataCases() []treeCase {
	return []treeCase{
		{
			name: "equal is equal by value",
			rule: "a retry is equal by JSON value: the order of keys and the way a text is written do not matter; what was stored first stays",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				for i, pair := range equalData {
					n := childNode(numbered("n", i+1)[i], "r")
					for _, order := range [...][2]store.JSON{pair, {pair[1], pair[0]}} {
						n.Data = order[0]
						b.append("example", n)
						retry := n
						retry.Data = order[1]
						if err := b.s.Append(b.ctx, "example", retry); err != nil {
							b.t.Fatalf("%s again as %s: %v", order[0], order[1], err)
						}
						b.sameNode("example", n)
						n.ID += " turned"
					}
				}
			},
		},
		{
			name: "different is different by value",
			rule: "a retry with another value is a conflict: nothing is rounded, nothing is folded",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				for i, pair := range differentData {
					n := childNode(numbered("n", i+1)[i], "r")
					for _, order := range [...][2]store.JSON{pair, {pair[1], pair[0]}} {
						n.Data = order[0]
						b.append("example", n)
						other := n
						other.Data = order[1]
						if err := b.s.Append(b.ctx, "example", other); err == nil {
							b.t.Fatalf("%s again as %s: taken as equal", order[0], order[1])
						} else {
							b.conflict(err, "example", n.ID, store.ReasonData)
						}
						b.sameNode("example", n)
						n.ID += " turned"
					}
				}
			},
		},
		{
			name: "data is given back as it was",
			rule: "data is stored as given: digits, escapes, white space, order of keys and depth",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				deep := size(20_000, 2_000)
				for i, data := range []store.JSON{
					"\n{\t\"z\" : 1.50 ,\r\n \"a\":[ ] } ",
					`{"n":[1e400,-0,0.10,1E5,123456789012345678901234567890]}`,
					`{"s":"\u0041\/\ud800\u0000\u2028<>&'é😀"}`,
					"{\"s\":\"\u2028\u2029\u202e\x7f\u0085\ufeff\"}",
					`{"":"","a":{"":null}}`,
					store.JSON(strings.Repeat(`{"a":`, deep) + "[]" + strings.Repeat("}", deep)),
					store.JSON(`{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}"),
					store.JSON(`{"text":"` + strings.Repeat("0123456789abcdef", 1<<16) + `"}`), // 1 MiB
				} {
					n := childNode(numbered("n", i+1)[i], "r")
					n.Data = data
					b.append("example", n)
					if got := b.node("example", n.ID).Data; got != data {
						b.t.Fatalf("data %d came back as %d bytes, %.60q", i, len(got), got)
					}
					b.append("example", n)
				}
			},
		},
		{
			name: "values are independent",
			rule: "Contract, reads: reads return independent values; changing one does not modify storage, nor does changing what was appended",
			run: func(b *treeBundle) {
				b.create("example")
				b.append("example", rootNode("r"))
				parent := "r"
				n := store.Node{ID: "a", ParentID: &parent, Kind: "run", Data: `{"a":1}`}
				b.append("example", n)
				parent = "changed by the caller"
				want := store.Node{ID: "a", ParentID: ptr("r"), Kind: "run", Data: `{"a":1}`}
				b.sameNode("example", want)

				spoil := func(n *store.Node) {
					n.Data, n.Kind, n.ID = `{"spoilt":true}`, "spoilt", "spoilt"
					if n.ParentID != nil {
						*n.ParentID = "spoilt"
					}
				}
				got := b.node("example", "a")
				spoil(&got)
				b.sameNode("example", want)
				slots, err := b.s.Nodes(b.ctx, "example", []string{"a", "a", "r"})
				b.ok(err)
				spoil(slots[0])
				b.equal("a duplicate's slot", *slots[1], want)
				b.append("example", childNode("b", "r"), childNode("c", "a"))
				for name, list := range nodeLists(b, "example", "r", "c") {
					page, err := list(store.PageRequest{})
					b.ok(err)
					for i := range page.Items {
						for j := range page.Items[i+1:] {
							if p, q := page.Items[i].ParentID, page.Items[i+1+j].ParentID; p != nil && p == q {
								b.t.Fatalf("%s: two nodes share one parent pointer", name)
							}
						}
						spoil(&page.Items[i])
					}
				}
				b.sameNode("example", want)
				b.sameNode("example", childNode("b", "r"))
			},
		},
	}
}

// nodeLists are the lists of nodes: all, the roots, children of one, history of
// another.
func nodeLists(b *treeBundle, session, parent, leaf string) map[string]func(store.PageRequest) (store.Page[store.Node], error) {
	return map[string]func(store.PageRequest) (store.Page[store.Node], error){
		"ListNodes": func(p store.PageRequest) (store.Page[store.Node], error) { return b.s.ListNodes(b.ctx, session, p) },
		"roots": func(p store.PageRequest) (store.Page[store.Node], error) {
			return b.s.ListChildren(b.ctx, session, "", p)
		},
		"ListChildren": func(p store.PageRequest) (store.Page[store.Node], error) {
			return b.s.ListChildren(b.ctx, session, parent, p)
		},
		"ListHistory": func(p store.PageRequest) (store.Page[store.Node], error) {
			return b.s.ListHistory(b.ctx, session, leaf, p)
		},
	}
}

func treeRefusedCases() []treeCase {
	return []treeCase{
		{
			name: "impossible ids and kinds",
			rule: "ids and kinds have 1 to 512 bytes of valid UTF-8 without NUL; a refused value is a *ValueError and nothing is written",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				before := b.dump()
				for id, want := range impossibleIDs() {
					n := childNode(id, "r")
					b.refused("node id", b.s.Append(b.ctx, "example", n), "node id", want)
					n = childNode("a", id)
					b.refused("parent id", b.s.Append(b.ctx, "example", n), "parent id", want)
					n = childNode("a", "r")
					n.Kind = id
					b.refused("kind", b.s.Append(b.ctx, "example", n), "kind", want)
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "data that is no object",
			rule: "data is a JSON object; anything else is refused, and nothing is written",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				before := b.dump()
				for _, data := range []store.JSON{"", "null", "[]", "[{}]", "1", `"x"`, "true"} {
					n := childNode("a", "r")
					n.Data = data
					b.refused(fmt.Sprintf("data %q", data), b.s.Append(b.ctx, "example", n), "data", store.ErrNotObject)
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "data that is no strict JSON",
			rule: "data is strict JSON in valid UTF-8, without NaN, infinities or repeated keys; anything else is refused, and nothing is written",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				before := b.dump()
				for _, data := range []store.JSON{
					" ", "{", "}", "{}{}", "{} x", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{'a':1}`,
					`{"a":NaN}`, `{"a":Infinity}`, `{"a":[-Infinity]}`, `{"a":nan}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":0x10}`, `{"a":1_0}`,
					`{"a":1,"a":1}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":[{"b":1,"c":2,"b":3}]}`,
					"{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\xc3\":1}", "{\"a\":\"\x00\"}", "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12"}`, "{}\x00",
					"\ufeff{}", "{}//", "undefined", `{"a":undefined}`, `{"a":True}`,
				} {
					n := childNode("a", "r")
					n.Data = data
					b.refused(fmt.Sprintf("data %q", data), b.s.Append(b.ctx, "example", n), "data", nil)
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "data at its bound and over it",
			rule: "data has at most 16 MiB of UTF-8 as given: the bound itself is taken, one byte more is refused",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				n := childNode("a", "r")
				filled := func(size int) store.JSON {
					return store.JSON(`{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}`)
				}
				n.Data = filled(store.MaxDataBytes + 1)
				b.refused("one byte more", b.s.Append(b.ctx, "example", n), "data", store.ErrTooLong)
				n.Data = "{}" + store.JSON(strings.Repeat(" ", store.MaxDataBytes-1)) // white space counts
				b.refused("white space", b.s.Append(b.ctx, "example", n), "data", store.ErrTooLong)
				b.equal("count", b.count("example"), int64(1))

				n.Data = filled(store.MaxDataBytes)
				b.append("example", n)
				if got := b.node("example", "a").Data; got != n.Data {
					b.t.Fatalf("%d bytes came back as %d", len(n.Data), len(got))
				}
			},
		},
	}
}
