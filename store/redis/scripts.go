package redis

import goredis "github.com/redis/go-redis/v9"

// The scripts that write. Each looks at everything first, and writes only what then
// cannot fail, so that it is done whole or not at all: Redis does not undo.
//
// Numbers of the caller stay text, and those of the server are taken for smaller than
// 2^53: Lua has floats only.

// commitScript is one event boundary.
//
// KEYS 1 execution, 2 outbox, 3 outbox:seq, 4 spawns, 5 spawns:seq, 6 processed,
// 7 timers, 8 trace, 9 trace:seq and, with an expected version of 0, 10 born, 11 births.
//
// ARGV 1 the expected version, 2 the new blob, 3 how to compare: "v" by the version in
// the stored blob, "b" by the blob itself in 4; 5 "1" where 6 is a dedupe mark; 7 the
// trace step without its closing brace, "" for none; 8 the ring's length, 0 unbounded;
// 9 the id; 10, 11, 12 the numbers of emits, spawns and timer operations; 13 "1" to ask
// for every right first, since one that is missing in the middle would leave a half;
// then those, a timer operation as action, member and score.
//
// It answers {"ok", last outbox seq}, {"conflict", found}, {"absent"}, {"denied",
// command}, or {"look", blob} where Lua cannot tell the version: the caller can. A key of another type than it
// should be is met before anything is written, by asking for its length, and is the
// script's error.
//
// births is a list of the ids that were inserted last, and born counts all of them:
// by these two, other clients of ours see a new execution at once, although only a
// SCAN can find those that harel inserts.
var commitScript = goredis.NewScript(`
local old = redis.call('GET', KEYS[1])
if ARGV[3] == 'b' then
  if old ~= ARGV[4] then return {'look', old} end
elseif old then
  local ok, doc = pcall(cjson.decode, old)
  local v = ok and type(doc) == 'table' and doc.version
  if type(v) ~= 'number' or v % 1 ~= 0 or v < 0 or v >= 9007199254740992 then return {'look', old} end
  if v ~= tonumber(ARGV[1]) then return {'conflict', string.format('%.0f', v)} end
elseif ARGV[1] ~= '0' then
  return {'absent'}
end
local emits, spawns, timers, step = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12]), ARGV[7]
if ARGV[13] == '1' and redis.acl_check_cmd then
  local wants = {{'SET', KEYS[1], ''}}
  if not old then
    wants[#wants + 1] = {'RPUSH', KEYS[11], ''}
    wants[#wants + 1] = {'LTRIM', KEYS[11], '0', '0'}
    wants[#wants + 1] = {'INCR', KEYS[10]}
  end
  if emits > 0 then
    wants[#wants + 1] = {'INCRBY', KEYS[3], '1'}
    wants[#wants + 1] = {'HSET', KEYS[2], '', ''}
  end
  if spawns > 0 then
    wants[#wants + 1] = {'INCRBY', KEYS[5], '1'}
    wants[#wants + 1] = {'HSET', KEYS[4], '', ''}
  end
  if ARGV[5] == '1' then wants[#wants + 1] = {'SADD', KEYS[6], ''} end
  if timers > 0 then
    wants[#wants + 1] = {'ZADD', KEYS[7], '0', ''}
    wants[#wants + 1] = {'ZREM', KEYS[7], ''}
  end
  if step ~= '' then
    wants[#wants + 1] = {'INCR', KEYS[9]}
    wants[#wants + 1] = {'RPUSH', KEYS[8], ''}
    wants[#wants + 1] = {'LTRIM', KEYS[8], '0', '0'}
  end
  for _, want in ipairs(wants) do
    if not redis.acl_check_cmd(unpack(want)) then return {'denied', want[1]} end
  end
end
if emits > 0 then redis.call('HLEN', KEYS[2]) end
if spawns > 0 then redis.call('HLEN', KEYS[4]) end
if ARGV[5] == '1' then redis.call('SCARD', KEYS[6]) end
if timers > 0 then redis.call('ZCARD', KEYS[7]) end
if step ~= '' then redis.call('LLEN', KEYS[8]) end
local seq, spawn, index = 0, 0, 0
if emits > 0 then seq = redis.call('INCRBY', KEYS[3], emits) end
if spawns > 0 then spawn = redis.call('INCRBY', KEYS[5], spawns) end
if step ~= '' then index = redis.call('INCR', KEYS[9]) - 1 end
redis.call('SET', KEYS[1], ARGV[2])
if not old then
  redis.call('RPUSH', KEYS[11], ARGV[9])
  redis.call('LTRIM', KEYS[11], -10000, -1)
  redis.call('INCR', KEYS[10])
end
local at = 13
for i = 1, emits do
  redis.call('HSET', KEYS[2], seq - emits + i, ARGV[at + i])
end
at = at + emits
if ARGV[5] == '1' then redis.call('SADD', KEYS[6], ARGV[6]) end
for i = 1, spawns do
  redis.call('HSET', KEYS[4], spawn - spawns + i, ARGV[at + i])
end
at = at + spawns
for i = 1, timers do
  if ARGV[at + 1] == 'schedule' then
    redis.call('ZADD', KEYS[7], ARGV[at + 3], ARGV[at + 2])
  else
    redis.call('ZREM', KEYS[7], ARGV[at + 2])
  end
  at = at + 3
end
if step ~= '' then
  redis.call('RPUSH', KEYS[8], step .. '"index": ' .. string.format('%.0f', index) .. '}')
  if ARGV[8] ~= '0' then redis.call('LTRIM', KEYS[8], '-' .. ARGV[8], -1) end
end
return {'ok', seq}
`)

// traceScript appends a step outside a commit. KEYS 1 trace, 2 trace:seq; ARGV 1 the
// step without its closing brace, 2 the ring's length.
var traceScript = goredis.NewScript(`
redis.call('LLEN', KEYS[1])
local step = redis.call('INCR', KEYS[2]) - 1
redis.call('RPUSH', KEYS[1], ARGV[1] .. '"index": ' .. string.format('%.0f', step) .. '}')
if ARGV[2] ~= '0' then redis.call('LTRIM', KEYS[1], '-' .. ARGV[2], -1) end
return {'ok'}
`)

// timerScript deletes or moves a timer that still has the score that was seen. KEYS 1
// timers; ARGV 1 member, 2 the score seen, 3 the new one, "" to delete.
var timerScript = goredis.NewScript(`
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or score ~= ARGV[2] and tonumber(score) ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'XX', ARGV[3], ARGV[1])
end
return 1
`)

// purgeScript removes an execution whose blob is exactly ARGV 2, or, where ARGV 1 is
// "absent", what is left under an id that has none, with the rows that the caller found.
// KEYS 1 execution, 2 processed, 3 trace, 4 trace:seq, 5 timers, 6 outbox, 7 spawns;
// ARGV 3, 4, 5 the numbers of timers, outbox entries and spawns, then those. Keys of
// another type than they should have are other executions': "trace:seq:x" is the
// counter of x and the trace of seq:x.
var purgeScript = goredis.NewScript(`
local old = redis.call('GET', KEYS[1])
if ARGV[1] == 'absent' then
  if old then return 0 end
elseif old ~= ARGV[2] then
  return 0
end
redis.call('DEL', KEYS[1])
local function drop(key, want)
  local t = redis.call('TYPE', key)
  if (t.ok or t) == want then redis.call('DEL', key) end
end
drop(KEYS[2], 'set')
drop(KEYS[3], 'list')
drop(KEYS[4], 'string')
local at = 5
for i = 1, tonumber(ARGV[3]) do redis.call('ZREM', KEYS[5], ARGV[at + i]) end
at = at + tonumber(ARGV[3])
for i = 1, tonumber(ARGV[4]) do redis.call('HDEL', KEYS[6], ARGV[at + i]) end
at = at + tonumber(ARGV[4])
for i = 1, tonumber(ARGV[5]) do redis.call('HDEL', KEYS[7], ARGV[at + i]) end
return 1
`)
