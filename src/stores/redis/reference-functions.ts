/** The part of the server's functions that knows which runs name which blobs. They use those of the other parts. */
import { heldBy } from '../../ports/held-runs.ts';
import { scanMax } from './run-functions.ts';

/**
 * - `refs:ID` how many writes of a run have named a blob, by hash; `namers:` the runs that name one; `defines:` graphs whose runs' rows do
 * - `readClaims` of a run is `claims` as long as each claim was granted by functions that know of references; the fourth part of a message is 1
 *   if it was posted by such. `unread:` has the runs of which that is not so.
 * - Functions of before, which stand beside these on a server, leave no mark but that they take numbers: `own` counts those that these take. As
 *   long as `number` is as far from it as it was when all runs were looked at (`looked`), `unread:` has all.
 */
export const referenceFunctions: string = `
local function isAllRead(r)
  if r.readClaims ~= claimsOf(r) then return false end
  for _, name in ipairs(call('ZRANGE', P .. 'inbox:' .. r.id, 0, -1)) do
    if unpackOne(call('HGET', P .. 'msg:' .. r.id, name))[4] ~= 1 then return false end
  end
  return true
end

-- A run that functions of before removed left its references, which go here: one that is there tells.
function frees.namedBlobs(q)
  local found = {}
  for _, hash in ipairs(q.hashes) do
    local key = P .. 'namers:' .. named(q.tenant, hash)
    local runId = call('SRANDMEMBER', key)
    while runId and call('EXISTS', P .. 'run:' .. named(q.tenant, runId)) == 0 do
      call('SREM', key, runId)
      runId = call('SRANDMEMBER', key)
    end
    if runId then found[#found + 1] = hash end
  end
  return { 'ok', found }
end

function reads.referencesOf(q)
  local found = {}
  for _, runId in ipairs(q.runIds) do
    local r = load(q.tenant, runId)
    if r then found[#found + 1] = { runId, isAllRead(r) and 1 or 0, call('HGETALL', P .. 'refs:' .. r.id) } end
  end
  return { 'ok', found }
end

function writes.addReferences(q)
  local r = load(q.tenant, q.runId)
  if not r then return { 'ok' } end
  noteBlobs(r, q.hashes)
  if q.read and q.read.head == r.head then
    for _, name in ipairs(call('ZRANGE', P .. 'inbox:' .. r.id, 0, -1)) do
      local m = unpackOne(call('HGET', P .. 'msg:' .. r.id, name))
      if has(q.read.messages, m[1]) then call('HSET', P .. 'msg:' .. r.id, name, pack({ m[1], m[2], m[3], 1 })) end
    end
    if q.read.claims == claimsOf(r) and (not r.owner or r.owner == '${heldBy}') then set(r, { readClaims = claimsOf(r) }) end
    if isAllRead(r) then call('ZREM', P .. 'unread:' .. r.tenant, r.runId) end
  end
  return { 'ok' }
end

function frees.dropReferences(q)
  local r = load(q.tenant, q.runId)
  for _, one in ipairs(r and q.named or {}) do
    if tonumber(call('HGET', P .. 'refs:' .. r.id, one[1])) == one[2] then forgetBlob(r, one[1]) end
  end
  return { 'ok' }
end

local function numbersOfOthers()
  return int(tonumber(call('GET', P .. 'number') or 0) - tonumber(call('GET', P .. 'own') or 0))
end

-- A page of the runs that are not all read, and where to go on: in the list of them, or run by run as long as that may lack some.
function frees.unread(q)
  local key, at, rows, after = P .. 'unread:' .. q.tenant, numbersOfOthers(), {}, q.after or -1
  local looked = call('HGET', P .. 'looked', q.tenant)
  if q.since == 'list' or not q.since and looked == at then
    local page = call('ZRANGEBYSCORE', key, '(' .. int(after), '+inf', 'WITHSCORES', 'LIMIT', 0, q.limit)
    for i = 1, #page, 2 do rows[#rows + 1] = page[i] end
    return { 'ok', rows, #rows == q.limit and tonumber(page[#page]), 'list' }
  end
  local since = q.since or at
  local page = call('ZRANGEBYSCORE', index(q.tenant, 'runs'), '(' .. int(after), '+inf', 'WITHSCORES', 'LIMIT', 0, ${scanMax})
  for i = 1, #page, 2 do
    local r = load(q.tenant, page[i])
    after = tonumber(page[i + 1])
    if r and not isAllRead(r) then
      call('ZADD', key, int(r.no), r.runId)
      rows[#rows + 1] = r.runId
      if #rows == q.limit then return { 'ok', rows, after, since } end
    end
  end
  if #page == ${scanMax * 2} then return { 'ok', rows, after, since } end
  if since == at then call('HSET', P .. 'looked', q.tenant, at) end
  return { 'ok', rows }
end

function writes.define(q)
  for _, hash in ipairs(q.hashes) do call('SADD', P .. 'defines:' .. named(q.tenant, hash), q.graphId) end
  return { 'ok' }
end

function reads.definedGraphs(q)
  local found = {}
  for _, hash in ipairs(q.hashes) do
    for _, graphId in ipairs(call('SMEMBERS', P .. 'defines:' .. named(q.tenant, hash))) do found[#found + 1] = { hash, graphId } end
  end
  return { 'ok', found }
end
`;
