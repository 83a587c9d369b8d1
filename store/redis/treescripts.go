package redis

import (
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// treeKeys are the keys of all trees of a database.
//
// A tree is known by a number that is never used again, so that a cursor of a deleted
// tree fits no tree made later under the same name, and deleting one is the removal of
// three keys, however many nodes it has.
type treeKeys struct {
	mark    string // who made the store: {"schema", "prefix"}
	ids     string // sorted set of the trees' ids, all with score 0: by their bytes
	records string // hash: id to "number expiry kind"; the expiry is "-" for none
	expiry  string // sorted set of those ids that expire, by when
	number  string // counter
	base    string // of the three keys of a tree
}

func treeKeysOf(base string) treeKeys {
	return treeKeys{
		mark: strings.TrimSuffix(base, "trees") + "store",
		ids:  base, records: base + ":records", expiry: base + ":expiry", number: base + ":number", base: base + ":",
	}
}

// nodes is a hash of the nodes of a tree: id to kind, NUL, parent, NUL, data. A root
// has no parent there.
func (k treeKeys) nodes(number string) string { return k.base + "nodes:" + number }

// order is a sorted set of their ids, by their bytes.
func (k treeKeys) order(number string) string { return k.base + "order:" + number }

// below is a sorted set of parent, NUL, id: the children of a node together, by the
// bytes of their ids.
func (k treeKeys) below(number string) string { return k.base + "below:" + number }

// all are the keys that every script on trees gets. The keys of a single tree follow
// from its number, which only the script knows; in a cluster they lie in the same slot.
func (k treeKeys) all() []string { return []string{k.ids, k.records, k.expiry, k.number, k.base} }

// treeHead begins every script on trees: find(id) is the number, expiry and kind of a
// tree and whether it lives by the server's clock, moved by ARGV[1] seconds.
const treeHead = `
local ids, records, expiry, counter, base = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000 + tonumber(ARGV[1])
local function find(id)
  local record = redis.call('HGET', records, id)
  if not record then return nil end
  local number, at, kind = string.match(record, '^(%d+) (%S+) (.*)$')
  return number, at, kind, at == '-' or tonumber(at) > now
end
local function drop(id, number)
  redis.call('HDEL', records, id)
  redis.call('ZREM', ids, id)
  redis.call('ZREM', expiry, id)
  redis.call('UNLINK', base .. 'nodes:' .. number, base .. 'order:' .. number, base .. 'below:' .. number)
end
local function keep(id, number, at, kind)
  redis.call('HSET', records, id, number .. ' ' .. at .. ' ' .. kind)
  if at == '-' then redis.call('ZREM', expiry, id) else redis.call('ZADD', expiry, at, id) end
end
`

// createTree: ARGV 2 id, 3 kind, 4 expiry or "-". It answers {"ok", expiry} or
// {"kind", the stored one}.
var createTree = goredis.NewScript(treeHead + `
local id = ARGV[2]
local number, at, kind, live = find(id)
if live then
  if kind ~= ARGV[3] then return {'kind', kind} end
  return {'ok', at}
end
if number then drop(id, number) end
keep(id, string.format('%.0f', redis.call('INCR', counter)), ARGV[4], ARGV[3])
redis.call('ZADD', ids, 0, id)
return {'ok', ARGV[4]}
`)

// expireTree: ARGV 2 id, 3 expiry or "-". It answers {"ok", kind} or {"none"}.
var expireTree = goredis.NewScript(treeHead + `
local number, at, kind, live = find(ARGV[2])
if not live then return {'none'} end
keep(ARGV[2], number, ARGV[3], kind)
return {'ok', kind}
`)

// deleteTree: ARGV 2 id. It answers {"ok"} or {"none"}.
var deleteTree = goredis.NewScript(treeHead + `
local number = find(ARGV[2])
if not number then return {'none'} end
drop(ARGV[2], number)
return {'ok'}
`)

// purgeTrees removes up to ARGV 2 expired trees. It answers {"ok", how many}.
var purgeTrees = goredis.NewScript(treeHead + `
local gone = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiry, '-inf', string.format('%.17g', now), 'LIMIT', 0, tonumber(ARGV[2]))) do
  local number = find(id)
  if number then drop(id, number) else redis.call('ZREM', expiry, id) end
  gone = gone + 1
end
return {'ok', tostring(gone)}
`)

// appendNodes: ARGV 2 id, 3 the number that the tree must have, "" for any, 4 how many
// nodes, then for each id, parent ("" for a root) and what is stored. Those before any
// that cannot be appended and are there already come back, for the caller to compare:
// JSON is equal in other ways than Lua knows.
//
// It answers {"none"} without the tree; {"ok"} with all appended; else, and then nothing
// is written, {"look", number, what is wrong with which node or "", index, node, ...}.
var appendNodes = goredis.NewScript(treeHead + `
local number, at, kind, live = find(ARGV[2])
if not live then return {'none'} end
if ARGV[3] ~= '' and ARGV[3] ~= number then return {'none'} end
local nodes, order, below = base .. 'nodes:' .. number, base .. 'order:' .. number, base .. 'below:' .. number
local fresh, there, wrong, root = {}, {}, '', nil
for i = 1, tonumber(ARGV[4]) do
  local a = 2 + 3 * i
  local id, parent = ARGV[a], ARGV[a + 1]
  local stored = redis.call('HGET', nodes, id)
  if stored then
    there[#there + 1] = tostring(i)
    there[#there + 1] = stored
  elseif parent == '' then
    if root == nil then root = redis.call('ZLEXCOUNT', below, '[' .. string.char(0), '(' .. string.char(1)) > 0 end
    if root then wrong = 'root ' .. i break end
    root = true
    fresh[id] = true
  else
    if not fresh[parent] and redis.call('HEXISTS', nodes, parent) == 0 then wrong = 'parent ' .. i break end
    fresh[id] = true
  end
end
if #there > 0 or wrong ~= '' then
  local answer = {'look', number, wrong}
  for _, v in ipairs(there) do answer[#answer + 1] = v end
  return answer
end
for i = 1, tonumber(ARGV[4]) do
  local a = 2 + 3 * i
  redis.call('HSET', nodes, ARGV[a], ARGV[a + 2])
  redis.call('ZADD', order, 0, ARGV[a])
  redis.call('ZADD', below, 0, ARGV[a + 1] .. string.char(0) .. ARGV[a])
end
return {'ok'}
`)

// history walks up from a node: ARGV 1 the node, 2 how many nodes at most, 3 how many
// bytes are enough; KEYS 1 the nodes of the tree. It only reads. It answers ids and
// nodes by turns.
var history = goredis.NewScript(`
local out, id, size = {}, ARGV[1], 0
for _ = 1, tonumber(ARGV[2]) do
  local node = redis.call('HGET', KEYS[1], id)
  if not node then break end
  out[#out + 1] = id
  out[#out + 1] = node
  size = size + #node
  if size >= tonumber(ARGV[3]) then break end
  local a = string.find(node, string.char(0), 1, true)
  local b = string.find(node, string.char(0), a + 1, true)
  id = string.sub(node, a + 1, b - 1)
  if id == '' then break end
end
return out
`)

// packNode is a node as it is stored, without its id.
func packNode(n store.Node) string {
	return n.Kind + "\x00" + parentOf(n) + "\x00" + string(n.Data)
}

// unpackNode reads it again. Neither ids nor kinds hold a NUL.
func unpackNode(id, stored string) (store.Node, bool) {
	kind, rest, found := strings.Cut(stored, "\x00")
	parent, data, again := strings.Cut(rest, "\x00")
	n := store.Node{ID: id, Kind: kind, Data: store.JSON(data)}
	if parent != "" {
		n.ParentID = &parent
	}
	return n, found && again
}

func parentOf(n store.Node) string {
	if n.ParentID == nil {
		return ""
	}
	return *n.ParentID
}

// record is what is known of a tree.
type record struct {
	number string
	info   store.SessionInfo
}

// readRecord reads "number expiry kind".
func readRecord(id, text string) (record, bool) {
	number, rest, found := strings.Cut(text, " ")
	at, kind, again := strings.Cut(rest, " ")
	r := record{number, store.SessionInfo{ID: id, Kind: kind}}
	if at != "-" {
		expires, err := strconv.ParseFloat(at, 64)
		if err != nil {
			return record{}, false
		}
		r.info.ExpiresAt = &expires
	}
	return r, found && again
}

// live reports whether the tree has not expired by then.
func (r record) live(now float64) bool { return r.info.ExpiresAt == nil || *r.info.ExpiresAt > now }
