package redis

import (
	"regexp"
	"strings"

	"treering/store"
)

// DefaultPrefix is what new stores name their execution keys after, as harel does
// since 0.7; LegacyPrefix is the one before.
const (
	DefaultPrefix = "harel"
	LegacyPrefix  = "stm"
)

// keys are the names of one set of execution keys.
type keys struct {
	prefix                    string
	outbox, outboxSeq         string
	spawns, spawnsSeq, timers string
	born, births              string // ours: see births in scripts.go
}

func keysOf(prefix string) keys {
	p := prefix + ":"
	return keys{
		prefix: prefix,
		outbox: p + "outbox", outboxSeq: p + "outbox:seq",
		spawns: p + "spawns", spawnsSeq: p + "spawns:seq", timers: p + "timers",
		born: p + "treering:born", births: p + "treering:births",
	}
}

func (k keys) exe(id string) string       { return k.prefix + ":exe:" + id }
func (k keys) processed(id string) string { return k.prefix + ":processed:" + id }
func (k keys) trace(id string) string     { return k.prefix + ":trace:" + id }
func (k keys) traceSeq(id string) string  { return k.prefix + ":trace:seq:" + id }

// timerMember is a timer as the sorted set has it. Ids have no NUL, so the first one
// is where the path begins.
func timerMember(id, path string) string { return id + "\x00" + path }

// treeBase is what the keys of trees begin with. In a cluster they lie in the slot of
// the executions.
func treeBase(prefix string) string {
	if tag := hashTag(prefix); tag != "" {
		return prefix + ":treering:trees"
	}
	return "treering:trees"
}

// hashTag is the part of a key by which a cluster chooses the slot, "" for all of it.
func hashTag(key string) string {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return ""
	}
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}

// glob writes text so that a pattern of Redis matches it and nothing else.
func glob(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`, "-", `\-`).Replace(text)
}

// prefixes that are looked for are those that harel takes, and such with a hash tag.
var findable = regexp.MustCompile(`^\{?[A-Za-z_][A-Za-z0-9_]{0,29}\}?$`)

// CheckPrefix refuses a prefix that no keys can be told by: an empty one, one that is
// over-long or no text, and one with an opening but no closing brace.
func CheckPrefix(prefix string) error {
	switch err := store.CheckID("prefix", prefix); {
	case err != nil:
		return err
	case strings.Contains(prefix, "{") && hashTag(prefix) == "":
		return &store.ValueError{Field: "prefix", Reason: "the hash tag in it is empty or not closed: {name}", Err: store.ErrNotText}
	}
	return nil
}
