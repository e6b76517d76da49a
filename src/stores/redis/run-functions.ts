/** The first part of the server's functions: keys, indexes and rows of runs; admission, listings, claims and workers. */

import { heldBy } from '../../ports/held-runs.ts';

/** Stands for "no due time". */
export const never: number = 2 ** 52;

/** How often the server's settings are looked at, in milliseconds. */
const lookEveryMs = 5_000;

/** How many rows one call looks at before it hands back what it has found, so that nobody else waits long for the server. */
export const scanMax = 2_000;

/**
 * Keys begin with the store's prefix P. `ID` names a run: `LENGTH:TENANT:RUN`.
 *
 * - `store` layout, identity, and the `run_id` of the server that gives numbers; `number` the last number used; `tenants`
 * - `run:ID` fields of a run; `cp:ID` and `snap:ID` rows by seq; `tag:ID`; `wait:ID` and `due:ID` open waits; `msg:ID` messages by kind and
 *   name, `seat:ID` the seats that they have, `inbox:ID` those that no commit has taken
 * - `idx:…` runs by admission, status, graph, parent and label; `ids:` and `keys:` for prefixes; `waits:` of a tenant by due time
 * - `ready:…` runs that can go on, by priority, graph and queue, which `buckets:` lists; `leased:` claimed ones by the end of their lease
 * - `removed:ID` lines of removed runs, `duty:` what one process does for all; both end by themselves
 * - `refs:ID`, `namers:`, `defines:`, `unread:`, `looked`, `own` which runs name which blobs (reference-functions.ts)
 * - `blob…`, `mem…`, `live:`, `workers:`
 *
 * A row of bytes is: time as 8 bytes, length of the checksum, checksum, body. Members that sort begin with numbers of equal width.
 *
 * Under another `run_id` of the server, the last writes may have been lost: numbers go on above a floor that the clock gives. A store gives
 * fewer than 1,024 numbers a millisecond, so none comes back. Claims hold as they are found: who has the newest that is known goes on.
 */
export const runFunctions: string = `
local skewMs = 0
local serverId
local lookedAt = 0
local P
local never = ${never}
local dayMs = 86400000

-- What Redis offers is not there yet when the library is loaded.
local function call(...) return redis.call(...) end
local function pack(value) return cmsgpack.pack(value) end
local function unpackOne(text) return cmsgpack.unpack(text) end
local function int(n) return string.format('%.0f', n) end
local function pad(n) return string.format('%016.0f', math.max(-2^51, math.min(n, 2^52)) + 2^51) end
local function named(tenant, rest) return #tenant .. ':' .. tenant .. ':' .. rest end
local function now()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000) + skewMs
end
local function nextNumber()
  call('INCR', P .. 'own')
  return call('INCR', P .. 'number')
end
local function sumOf(row) return row:sub(9, 9 + row:byte(9)) end
local function bodyOf(row) return row:sub(10 + row:byte(9)) end
local function has(list, value)
  for _, one in ipairs(list or {}) do if one == value then return true end end
  return false
end

local numbers = { no = 1, head = 1, createdAt = 1, updatedAt = 1, parentSeq = 1, token = 1, leaseUntil = 1, prunedBelow = 1,
  priority = 1, due = 1, first = 1, messageAt = 1, claims = 1, deaths = 1, deathsHead = 1, deathsUnreleased = 1, readClaims = 1 }
local fields = { 'no', 'tenant', 'runId', 'key', 'graphId', 'graphHash', 'status', 'head', 'createdAt', 'updatedAt', 'parentRun',
  'parentSeq', 'token', 'owner', 'leaseUntil', 'prunedBelow', 'queue', 'queueKey', 'priority', 'due', 'first', 'messageAt', 'labels',
  'refusals', 'slot', 'member', 'claims', 'deaths', 'deathsHead', 'deathsUnreleased', 'code', 'readClaims' }

local function load(tenant, runId)
  local id = named(tenant, runId)
  local v = call('HMGET', P .. 'run:' .. id, unpack(fields))
  if not v[1] then return nil end
  local r = { id = id }
  for i, name in ipairs(fields) do r[name] = v[i] and (numbers[name] and tonumber(v[i]) or v[i]) end
  return r
end

local function set(r, changes)
  for name, value in pairs(changes) do
    r[name] = value
    if value == false then call('HDEL', P .. 'run:' .. r.id, name)
    else call('HSET', P .. 'run:' .. r.id, name, type(value) == 'number' and int(value) or value) end
  end
end

local function holds(r, token) return r and r.token == token end
local function isClaimed(r, at) return r.owner and r.leaseUntil > at end
local function waitAt(r)
  local first = call('ZRANGE', P .. 'due:' .. r.id, 0, 0, 'WITHSCORES')
  return tonumber(first[2])
end

local function readyAt(r)
  local isGoing = r.status == 'running' or r.status == 'cancelling'
  if not isGoing and r.status ~= 'paused' then return nil end
  local at = math.min(isGoing and r.due or never, r.messageAt or never, waitAt(r) or never)
  if at < never then return at end
end

local function bucketName(r) return int(r.priority) .. ':' .. named(r.graphId, r.queue) end
local function bucketKey(tenant, name) return P .. 'ready:' .. named(tenant, name) end

-- Puts a run where claimNext looks for it.
local function place(r)
  local at = readyAt(r)
  local slot, member = false, false
  local name, leased, buckets = bucketName(r), P .. 'leased:' .. r.tenant, P .. 'buckets:' .. r.tenant
  local bucket = bucketKey(r.tenant, name)
  if at and r.owner then slot, member = 'leased', r.runId
  elseif at then slot, member = 'ready', pad(at) .. pad(r.no) .. r.runId end
  if r.slot and (r.slot ~= slot or r.member ~= member) then
    call('ZREM', r.slot == 'leased' and leased or bucket, r.member)
    if r.slot == 'ready' and call('EXISTS', bucket) == 0 then call('ZREM', buckets, name) end
  end
  if slot == 'leased' then call('ZADD', leased, int(r.leaseUntil), member)
  elseif slot == 'ready' and r.member ~= member then
    call('ZADD', bucket, 0, member)
    call('ZADD', buckets, int(r.priority), name)
  end
  if r.slot ~= slot or r.member ~= member then set(r, { slot = slot, member = member }) end
end

local function index(tenant, what) return P .. 'idx:' .. named(tenant, what) end

local function isOver(r) return r.status == 'completed' or r.status == 'failed' or r.status == 'cancelled' end

local function setStatus(r, status)
  call('ZREM', index(r.tenant, 'status:' .. r.status), r.runId)
  call('ZADD', index(r.tenant, 'status:' .. status), int(r.no), r.runId)
  set(r, { status = status })
end
local function labelIndex(name, value) return 'label:' .. #name .. ':' .. name .. value end
local function labelsOf(r) return r.labels and unpackOne(r.labels) or {} end
local function indexesOf(r)
  local list = { 'runs', 'status:' .. r.status, 'graph:' .. r.graphId }
  if r.parentRun then list[#list + 1] = 'parent:' .. r.parentRun end
  for _, label in ipairs(labelsOf(r)) do list[#list + 1] = labelIndex(label[1], label[2]) end
  return list
end

local function refusalsOf(r)
  local here = {}
  for _, one in ipairs(r.refusals and unpackOne(r.refusals) or {}) do
    if one[3] == r.head then here[#here + 1] = one end
  end
  return here
end

-- Runs from before claims were counted have a token if they were claimed.
local function claimsOf(r) return r.claims or (r.token > 0 and 1 or 0) end
-- How many owners never gave the run back at its present head.
local function deathsAt(r) return r.deathsHead == r.head and r.deaths or 0 end

local function rowOf(r)
  local refusals = {}
  for i, one in ipairs(refusalsOf(r)) do refusals[i] = { one[1], one[2] } end
  local at = now()
  return { r.tenant, r.runId, r.key, r.graphId, r.graphHash, r.status, r.head, r.createdAt, r.updatedAt, r.parentRun, r.parentSeq,
    isClaimed(r, at) and r.owner, isClaimed(r, at) and r.leaseUntil - at, call('EXISTS', P .. 'inbox:' .. r.id), r.prunedBelow, r.queue,
    r.queueKey, r.priority, int(r.due), call('HGET', P .. 'run:' .. r.id, 'meta') or '',
    call('EXISTS', index(r.tenant, 'parent:' .. r.runId)), call('EXISTS', P .. 'tag:' .. r.id), refusals, r.no, claimsOf(r), deathsAt(r), r.deathsUnreleased or 0, r.code or false }
end

-- Deliveries stand by themselves: nobody who asks for waits looks at them.
local function waitsKey(tenant, kind) return P .. (kind == 'delivery' and 'owed:' or 'waits:') .. tenant end

local function removeWait(r, waitId)
  local stored = call('HGET', P .. 'wait:' .. r.id, waitId)
  if not stored then return end
  local w = unpackOne(stored)
  call('HDEL', P .. 'wait:' .. r.id, waitId)
  call('ZREM', P .. 'due:' .. r.id, waitId)
  call('ZREM', waitsKey(r.tenant, w[2]), pad(w[3]) .. pad(w[1]) .. pack({ r.runId, waitId }))
end

local function openWait(r, waitId, kind, due, row)
  removeWait(r, waitId)
  local order = nextNumber()
  call('HSET', P .. 'wait:' .. r.id, waitId, pack({ order, kind, due, row }))
  if due < never then call('ZADD', P .. 'due:' .. r.id, int(due), waitId) end
  call('ZADD', waitsKey(r.tenant, kind), 0, pad(due) .. pad(order) .. pack({ r.runId, waitId }))
end

-- Counts one more write of the run that names these blobs.
local function noteBlobs(r, hashes)
  for _, hash in ipairs(hashes or {}) do
    call('HINCRBY', P .. 'refs:' .. r.id, hash, 1)
    call('SADD', P .. 'namers:' .. named(r.tenant, hash), r.runId)
  end
end

local function forgetBlob(r, hash)
  call('HDEL', P .. 'refs:' .. r.id, hash)
  call('SREM', P .. 'namers:' .. named(r.tenant, hash), r.runId)
end

local function grant(r, workerId, leaseMs)
  if r.readClaims == claimsOf(r) then set(r, { readClaims = claimsOf(r) + 1 }) end
  local died = r.owner and r.owner ~= workerId and workerId ~= '${heldBy}' and 1 or 0
  set(r, { token = nextNumber(), owner = workerId, leaseUntil = now() + leaseMs, claims = claimsOf(r) + 1,
    deaths = deathsAt(r) + died, deathsHead = r.head, deathsUnreleased = (r.status ~= 'paused' and r.deathsUnreleased or 0) + died })
  place(r)
  return r.token
end

local function wake(tenant, runId) call('PUBLISH', P .. 'wake', cjson.encode({ tenant, runId })) end

local function giveUp(r) set(r, { token = nextNumber(), owner = false, leaseUntil = 0 }) end

-- Another server, or one that was started again: what was written last may be lost, numbers that were given included.
local function begin()
  serverId = serverId or call('INFO', 'server'):match('run_id:(%w+)')
  if call('HGET', P .. 'store', 'epoch') == serverId then return end
  call('HSET', P .. 'store', 'epoch', serverId)
  local floor = now() * 1024
  if tonumber(call('GET', P .. 'number') or 0) < floor then call('SET', P .. 'number', int(floor)) end
end

-- The policy by which the server evicts keys, if it does: it may be set while runs go on, and is looked at every few seconds.
local function evicts()
  local at = now()
  if at >= lookedAt and at - lookedAt < ${lookEveryMs} then return nil end
  local policy = call('INFO', 'memory'):match('maxmemory_policy:(%S+)')
  if policy and policy ~= 'noeviction' then return policy end
  lookedAt = at
end

local reads, writes, frees = {}, {}, {}

function writes.open(q)
  call('HSETNX', P .. 'store', 'layout', q.layout)
  call('HSETNX', P .. 'store', 'identity', q.identity)
  return { 'ok', tonumber(call('HGET', P .. 'store', 'layout')) }
end

function reads.identity() return { 'ok', call('HGET', P .. 'store', 'identity') or '' } end
function writes.setIdentity(q)
  call('HSET', P .. 'store', 'identity', q.identity)
  return { 'ok' }
end
function reads.time() return { 'ok', now() } end

-- The line of a removed run: when, until when it is remembered, and why.
local function lineOf(tenant, runId)
  local stored = call('GET', P .. 'removed:' .. named(tenant, runId))
  local line = stored and unpackOne(stored)
  if line and line[2] > now() then return { int(line[1]), int(line[2]), line[3] } end
end

function writes.admit(q, bytes)
  local existing = load(q.tenant, q.runId)
  if existing then return { 'ok', 0, rowOf(existing), 0 } end
  local line = lineOf(q.tenant, q.runId)
  if line and not q.revives then return { 'RUN_EXPIRED', unpack(line) } end
  if q.parentRun and call('HEXISTS', P .. 'cp:' .. named(q.tenant, q.parentRun), int(q.parentSeq)) == 0 then
    return { 'CHECKPOINT_NOT_FOUND' }
  end
  local id, no = named(q.tenant, q.runId), nextNumber()
  if line then call('DEL', P .. 'removed:' .. id) end
  call('SADD', P .. 'tenants', q.tenant)
  call('HSET', P .. 'run:' .. id, 'tenant', q.tenant, 'runId', q.runId, 'meta', bytes[1])
  local r = { id = id, slot = false, member = false, owner = false, messageAt = false }
  set(r, { no = no, tenant = q.tenant, runId = q.runId, key = q.key, graphId = q.graphId, graphHash = q.graphHash, code = q.code or false, status = q.status,
    head = q.seq, first = q.seq, createdAt = q.at, updatedAt = q.at, token = 0, leaseUntil = 0, prunedBelow = 0, queue = q.queue,
    priority = q.priority, due = q.due or math.min(q.at, now()),
    parentRun = q.parentRun or false, parentSeq = q.parentSeq or false, queueKey = q.queueKey or false,
    labels = #q.labels > 0 and pack(q.labels) })
  noteBlobs(r, q.blobs)
  for _, hash in ipairs(q.defines or {}) do call('SADD', P .. 'defines:' .. named(r.tenant, hash), r.graphId) end
  if q.blobs then set(r, { readClaims = 0 }) else call('ZADD', P .. 'unread:' .. r.tenant, int(no), r.runId) end
  call('HSET', P .. 'cp:' .. id, int(q.seq), bytes[2])
  for _, name in ipairs(indexesOf(r)) do call('ZADD', index(r.tenant, name), int(no), r.runId) end
  call('ZADD', P .. 'ids:' .. r.tenant, 0, r.runId)
  call('ZADD', P .. 'keys:' .. r.tenant, 0, r.key .. '\\0' .. r.runId)
  for i, w in ipairs(q.waits) do openWait(r, w[1], w[2], w[3], bytes[2 + i]) end
  local token = 0
  if q.workerId then token = grant(r, q.workerId, q.leaseMs) else
    place(r)
    wake(r.tenant, r.runId)
  end
  return { 'ok', 1, rowOf(r), token }
end

function reads.run(q)
  local r = load(q.tenant, q.runId)
  return { 'ok', r and rowOf(r) or false }
end

function reads.find(q)
  local to = '[' .. q.prefix .. '\\255'
  local ids, found = {}, {}
  for _, id in ipairs(call('ZRANGEBYLEX', P .. 'ids:' .. q.tenant, '[' .. q.prefix, to, 'LIMIT', 0, q.limit)) do ids[id] = true end
  for _, member in ipairs(call('ZRANGEBYLEX', P .. 'keys:' .. q.tenant, '[' .. q.prefix, to, 'LIMIT', 0, ${scanMax})) do ids[member:match('%z(.*)$')] = true end
  local sorted = {}
  for id in pairs(ids) do sorted[#sorted + 1] = id end
  table.sort(sorted)
  for i = 1, math.min(#sorted, q.limit) do found[i] = rowOf(load(q.tenant, sorted[i])) end
  return { 'ok', found }
end

local function fitsQuery(r, q)
  if q.status and not has(q.status, r.status) then return false end
  if q.graphId and r.graphId ~= q.graphId or q.parentRun and r.parentRun ~= q.parentRun then return false end
  if q.since and r.createdAt < q.since or q.till and r.createdAt >= q.till then return false end
  for _, label in ipairs(q.labels) do
    local isThere = false
    for _, own in ipairs(labelsOf(r)) do isThere = isThere or own[1] == label[1] and own[2] == label[2] end
    if not isThere then return false end
  end
  return true
end

-- The indexes that have all runs of a query, and the fewest others.
local function indexesFor(q)
  local keys = { index(q.tenant, 'runs') }
  local function narrow(what)
    local key = index(q.tenant, what)
    if call('ZCARD', key) < call('ZCARD', keys[1]) then keys = { key } end
  end
  if q.graphId then narrow('graph:' .. q.graphId) end
  if q.parentRun then narrow('parent:' .. q.parentRun) end
  for _, label in ipairs(q.labels) do narrow(labelIndex(label[1], label[2])) end
  if q.status then
    local ofStatus, sum = {}, 0
    for i, status in ipairs(q.status) do
      ofStatus[i] = index(q.tenant, 'status:' .. status)
      sum = sum + call('ZCARD', ofStatus[i])
    end
    if sum < call('ZCARD', keys[1]) then keys = ofStatus end
  end
  return keys
end

-- How many runs of a query there are among the next of its narrowest index, and the number from which to go on; 0 at its end.
function reads.countRuns(q)
  local key, count = indexesFor(q)[1], 0
  local page = call('ZREVRANGEBYSCORE', key, '(' .. int(q.before), '-inf', 'WITHSCORES', 'LIMIT', 0, ${scanMax})
  for i = 1, #page, 2 do
    local isCounted = true
    for _, prefix in ipairs(q.exceptIds) do isCounted = isCounted and page[i]:sub(1, #prefix) ~= prefix end
    local r = isCounted and load(q.tenant, page[i])
    if r and fitsQuery(r, q) then count = count + 1 end
  end
  return { 'ok', count, #page < 2 * ${scanMax} and 0 or tonumber(page[#page]) }
end

-- The rows of a page, and the number from which to go on if there may be more that were not looked at.
function reads.list(q)
  local keys = indexesFor(q)
  local found, stopped = {}, 0
  for _, key in ipairs(keys) do
    local before, count, seen = '(' .. int(q.before), 0, 0
    while true do
      local page = call('ZREVRANGEBYSCORE', key, before, '-inf', 'LIMIT', 0, 100)
      for _, runId in ipairs(page) do
        local r = load(q.tenant, runId)
        before = '(' .. int(r.no)
        seen = seen + 1
        if fitsQuery(r, q) then
          found[#found + 1], count = r, count + 1
          if count > q.limit then break end
        end
      end
      if #page < 100 or count > q.limit then break end
      if seen >= ${scanMax} then
        stopped = math.max(stopped, tonumber(before:sub(2)))
        break
      end
    end
  end
  table.sort(found, function(a, b) return a.no > b.no end)
  local rows = {}
  for i, r in ipairs(found) do
    if i > q.limit + 1 or r.no < stopped then break end
    rows[i] = i > q.limit and { r.no } or rowOf(r)
  end
  return { 'ok', rows, stopped }
end

local function removeWhole(r, q)
  for _, waitId in ipairs(call('HKEYS', P .. 'wait:' .. r.id)) do removeWait(r, waitId) end
  for _, name in ipairs(indexesOf(r)) do call('ZREM', index(r.tenant, name), r.runId) end
  for _, hash in ipairs(call('HKEYS', P .. 'refs:' .. r.id)) do forgetBlob(r, hash) end
  call('ZREM', P .. 'unread:' .. r.tenant, r.runId)
  call('ZREM', P .. 'ids:' .. r.tenant, r.runId)
  call('ZREM', P .. 'keys:' .. r.tenant, r.key .. '\\0' .. r.runId)
  r.status = 'removed'
  place(r)
  for _, kind in ipairs({ 'run:', 'cp:', 'snap:', 'tag:', 'wait:', 'due:', 'msg:', 'seat:', 'inbox:', 'live:' }) do call('UNLINK', P .. kind .. r.id) end
  if q.because and q.rememberMs > 0 then
    call('SET', P .. 'removed:' .. r.id, pack({ now(), now() + q.rememberMs, q.because }), 'PX', int(q.rememberMs))
  end
end

local function forksOf(r) return call('ZRANGE', index(r.tenant, 'parent:' .. r.runId), 0, -1) end

function frees.remove(q)
  local r, at = load(q.tenant, q.runId), now()
  if not r then return { 'RUN_NOT_FOUND' } end
  if isClaimed(r, at) then return { 'CLAIM_TAKEN', r.owner, r.leaseUntil - at } end
  local forks = forksOf(r)
  if #forks > 0 then return { 'HISTORY_HAS_FORKS', forks } end
  removeWhole(r, q)
  return { 'ok' }
end

-- Whether something of the run is still to be delivered.
local function owes(r)
  for _, stored in ipairs(call('HVALS', P .. 'wait:' .. r.id)) do
    if unpackOne(stored)[2] == 'delivery' then return true end
  end
  return false
end

function frees.removeEnded(q)
  local ids, at = {}, now()
  for _, runId in ipairs(q.runIds) do
    local r = load(q.tenant, runId)
    if r and isOver(r) and not isClaimed(r, at) and #forksOf(r) == 0 and call('EXISTS', P .. 'tag:' .. r.id) == 0
      and not owes(r) then
      removeWhole(r, q)
      ids[#ids + 1] = runId
    end
  end
  return { 'ok', ids }
end

function reads.removed(q)
  local line = lineOf(q.tenant, q.runId)
  if line then return { 'ok', unpack(line) } end
  return { 'ok' }
end

function frees.forgetRemoved(q) return { 'ok', call('DEL', P .. 'removed:' .. named(q.tenant, q.runId)) } end

function frees.duty(q)
  local key, at = P .. 'duty:' .. q.name, now()
  local stored = call('GET', key)
  local duty = stored and unpackOne(stored)
  if duty and duty[1] ~= q.workerId and duty[2] > at then return { 'ok', 0 } end
  call('SET', key, pack({ q.workerId, at + q.leaseMs }), 'PX', int(q.leaseMs))
  return { 'ok', 1 }
end

function writes.claim(q)
  local r, at = load(q.tenant, q.runId), now()
  if not r then return { 'RUN_NOT_FOUND' } end
  if isClaimed(r, at) and r.owner ~= q.takeFrom then return { 'ok', 0, r.owner, r.leaseUntil - at } end
  return { 'ok', grant(r, q.workerId, q.leaseMs), rowOf(r) }
end

-- Whether the asker's code may go on with a run: it has not refused it here, and is the run's own, or no live worker has that.
local function fitsCode(r, q, live)
  local own, code = q.codes[r.graphId], r.code or r.graphHash
  if not own then return true end
  for _, one in ipairs(refusalsOf(r)) do if one[1] == own then return false end end
  if own == code or code == '' then return true end
  for _, graphs in ipairs(live) do if graphs[r.graphId] == code then return false end end
  return not q.isPinned
end

local function liveWorkers(tenant, at)
  local live = {}
  for _, stored in ipairs(call('HVALS', P .. 'workers:' .. tenant)) do
    local w = unpackOne(stored)
    if w[2] + w[3] > at then live[#live + 1] = cjson.decode(w[1]) end
  end
  return live
end

local function findNext(q)
  local at = now()
  local limitAt, live, found = q.at or at, liveWorkers(q.tenant, at), {}
  local except = {}
  for _, runId in ipairs(q.except) do except[runId] = true end
  local byPriority, priorities = {}, {}
  local function take(r, list)
    if not r or isClaimed(r, at) or r.due > limitAt or except[r.runId] then return false end
    if q.queues and not has(q.queues, r.queue) or not fitsCode(r, q, live) then return false end
    r.at = readyAt(r)
    if not r.at or r.at > limitAt then return false end
    list[#list + 1] = r
    return true
  end
  local function listOf(priority)
    if not byPriority[priority] then
      byPriority[priority] = {}
      priorities[#priorities + 1] = priority
    end
    return byPriority[priority]
  end
  for _, runId in ipairs(call('ZRANGEBYSCORE', P .. 'leased:' .. q.tenant, '-inf', int(at))) do
    local r = load(q.tenant, runId)
    if not q.graphs or has(q.graphs, r.graphId) then take(r, listOf(r.priority)) end
  end
  local buckets, sum, last = call('ZREVRANGE', P .. 'buckets:' .. q.tenant, 0, -1), 0, nil
  for _, bucket in ipairs(buckets) do
    local priority, length, rest = bucket:match('^(%-?%d+):(%d+):(.*)$')
    local graphId, queue = rest:sub(1, length), rest:sub(length + 2)
    priority = tonumber(priority)
    if last and priority < last and sum >= q.limit then break end
    last = priority
    if (not q.graphs or has(q.graphs, graphId)) and (not q.queues or has(q.queues, queue)) then
      local list, from, count, to = listOf(priority), '-', 0, '(' .. pad(limitAt + 1)
      while count < q.limit do
        local page = call('ZRANGEBYLEX', bucketKey(q.tenant, bucket), from, to, 'LIMIT', 0, 100)
        for _, member in ipairs(page) do
          from = '(' .. member
          if count < q.limit and take(load(q.tenant, member:sub(33)), list) then count = count + 1 end
        end
        if #page < 100 then break end
      end
      sum = sum + count
    end
  end
  table.sort(priorities, function(a, b) return a > b end)
  for _, priority in ipairs(priorities) do
    local list = byPriority[priority]
    table.sort(list, function(a, b) if a.at ~= b.at then return a.at < b.at end return a.no < b.no end)
    for _, r in ipairs(list) do if #found < q.limit then found[#found + 1] = r end end
  end
  return found
end

function writes.next(q)
  local granted = {}
  for i, r in ipairs(findNext(q)) do granted[i] = { grant(r, q.workerId, q.leaseMs), rowOf(r) } end
  return { 'ok', granted }
end

function reads.claimable(q)
  local ids = {}
  for i, r in ipairs(findNext(q)) do ids[i] = r.runId end
  return { 'ok', ids }
end

function reads.count(q)
  local function of(status) return call('ZCARD', index(q.tenant, 'status:' .. status)) end
  local waits = P .. 'waits:' .. q.tenant
  return { 'ok', of('running'), of('cancelling'), of('paused'), call('ZCARD', waits),
    call('ZLEXCOUNT', waits, '-', '(' .. pad(now() + 1)) }
end

function frees.renew(q)
  local replies = {}
  for i, c in ipairs(q.claims) do
    local r = load(c[1], c[2])
    if holds(r, c[3]) then
      set(r, { leaseUntil = now() + c[4] })
      place(r)
      replies[i] = { 1, call('EXISTS', P .. 'inbox:' .. r.id) }
    else replies[i] = { 0, r and r.token or 0 } end
  end
  return { 'ok', replies }
end

function frees.release(q)
  local r = load(q.tenant, q.runId)
  if not holds(r, q.token) then return { 'ok', 0 } end
  if q.refusedBy then
    local refusals = {}
    for _, one in ipairs(refusalsOf(r)) do if one[1] ~= q.refusedBy then refusals[#refusals + 1] = one end end
    refusals[#refusals + 1] = { q.refusedBy, now(), r.head }
    while #refusals > 32 do table.remove(refusals, 1) end
    set(r, { refusals = pack(refusals) })
  end
  giveUp(r)
  place(r)
  wake(r.tenant, r.runId)
  return { 'ok', 1 }
end

function writes.note(q, bytes)
  local at, key, seen = now(), P .. 'workers:' .. q.tenant, P .. 'seen:' .. q.tenant
  for _, old in ipairs(call('ZRANGEBYSCORE', seen, '-inf', int(at - dayMs - 1))) do
    call('HDEL', key, old)
    call('ZREM', seen, old)
  end
  call('HSET', key, q.workerId, pack({ q.graphs, at, q.aliveMs, bytes[1] }))
  call('ZADD', seen, int(at), q.workerId)
  return { 'ok' }
end

function reads.workers(q)
  local at, rows, key = now(), {}, P .. 'workers:' .. q.tenant
  local ids = call('ZRANGEBYSCORE', P .. 'seen:' .. q.tenant, int(at - dayMs), '+inf')
  table.sort(ids)
  for i, id in ipairs(ids) do
    local w = unpackOne(call('HGET', key, id))
    rows[i] = { id, w[1], w[2], w[2] + w[3] - at, w[4] }
  end
  return { 'ok', rows }
end
`;
