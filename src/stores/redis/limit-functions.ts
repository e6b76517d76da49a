/** The third part of the server's functions: records of limits, and lines of runs that wait for a place. */

import { scanMax } from './run-functions.ts';

/**
 * - `limits:TENANT` records by name, `limitnames:TENANT` their names in order
 * - `lines:TENANT` names of lines in order, `inline:TENANT` the place of a run in its line, `line:…` the runs of a line in order, `part:…`
 *   the ranks of those in a line who share it with others
 */
export const limitFunctions: string = `
local function lineKey(tenant, line) return P .. 'line:' .. named(tenant, line) end
local function partKey(tenant, line, part) return P .. 'part:' .. named(tenant, #line .. ':' .. line .. part) end

local function leaveLine(tenant, runId)
  local stored = call('HGET', P .. 'inline:' .. tenant, runId)
  if not stored then return false end
  local line, member, part = unpack(unpackOne(stored))
  call('HDEL', P .. 'inline:' .. tenant, runId)
  call('ZREM', lineKey(tenant, line), member)
  if part ~= '' then call('ZREM', partKey(tenant, line, part:sub(2)), runId) end
  if call('EXISTS', lineKey(tenant, line)) == 0 then call('ZREM', P .. 'lines:' .. tenant, line) end
  return true
end

-- The run of a member of a line, if it still waits there.
local function waiting(tenant, member)
  local r = load(tenant, member:sub(49))
  if r and r.status == 'paused' and pad(r.no) == member:sub(33, 48) then return r end
end

local function parkOne(tenant, p)
  local r = load(tenant, p[1])
  if not holds(r, p[2]) then return end
  giveUp(r)
  if r.status == 'running' then setStatus(r, 'paused') end
  place(r)
  if r.status ~= 'paused' then return end
  local stored = call('HGET', P .. 'inline:' .. tenant, r.runId)
  if stored and waiting(tenant, unpackOne(stored)[2]) then return end
  leaveLine(tenant, r.runId)
  local member = pad(-r.priority) .. pad(p[4]) .. pad(r.no) .. r.runId
  call('HSET', P .. 'inline:' .. tenant, r.runId, pack({ p[3], member, p[5] }))
  call('ZADD', lineKey(tenant, p[3]), 0, member)
  call('ZADD', P .. 'lines:' .. tenant, 0, p[3])
  if p[5] ~= '' then call('ZADD', partKey(tenant, p[3], p[5]:sub(2)), int(p[4]), r.runId) end
end

function writes.limitWrite(q)
  local key, names = P .. 'limits:' .. q.tenant, P .. 'limitnames:' .. q.tenant
  for _, c in ipairs(q.changes) do
    local stored = call('HGET', key, c.name)
    if (stored and unpackOne(stored)[1] or nil) ~= c.expected then return { 'ok', 0 } end
  end
  for _, c in ipairs(q.changes) do
    if c.body then
      call('HSET', key, c.name, pack({ c.version, c.body }))
      call('ZADD', names, 0, c.name)
    else
      call('HDEL', key, c.name)
      call('ZREM', names, c.name)
    end
  end
  for _, p in ipairs(q.park) do parkOne(q.tenant, p) end
  for _, runId in ipairs(q.unpark) do
    if leaveLine(q.tenant, runId) then
      local r = load(q.tenant, runId)
      if r and r.status == 'paused' then
        setStatus(r, 'running')
        place(r)
        wake(q.tenant, runId)
      end
    end
  end
  return { 'ok', 1 }
end

local function limitRow(tenant, name)
  local stored = call('HGET', P .. 'limits:' .. tenant, name)
  if stored then
    local record = unpackOne(stored)
    return { name, record[1], record[2] }
  end
end

function reads.limitRead(q)
  local rows = {}
  for _, name in ipairs(q.names) do rows[#rows + 1] = limitRow(q.tenant, name) end
  return { 'ok', rows }
end

local function namesAfter(key, q)
  local from = q.after and q.after >= q.prefix and '(' .. q.after or '[' .. q.prefix
  return call('ZRANGEBYLEX', key, from, '[' .. q.prefix .. '\\255', 'LIMIT', 0, q.limit)
end

function reads.limitList(q)
  local rows = {}
  for i, name in ipairs(namesAfter(P .. 'limitnames:' .. q.tenant, q)) do rows[i] = limitRow(q.tenant, name) end
  return { 'ok', rows }
end

function reads.lines(q) return { 'ok', namesAfter(P .. 'lines:' .. q.tenant, q) } end

function writes.limitCheck(q)
  local at, flags = now(), {}
  for i, h in ipairs(q.holders) do
    local r, holding = load(q.tenant, h[1]), 0
    if r and h[2] == 0 then
      if not isOver(r) then holding = 1 end
    elseif holds(r, h[2]) and r.owner then
      if isClaimed(r, at) then holding = 1 else
        giveUp(r)
        place(r)
        wake(q.tenant, r.runId)
      end
    end
    flags[i] = holding
  end
  return { 'ok', flags }
end

function reads.line(q)
  local rows, key, seen = {}, lineKey(q.tenant, q.line), 0
  while #rows < q.limit and seen < ${scanMax} do
    local page = call('ZRANGE', key, seen, seen + 99)
    for _, member in ipairs(page) do
      local r = #rows < q.limit and waiting(q.tenant, member)
      if r then rows[#rows + 1] = { r.runId, r.priority, tonumber(member:sub(17, 32)) - 2^51 } end
    end
    seen = seen + #page
    if #page < 100 then break end
  end
  local last = q.part and call('ZREVRANGE', partKey(q.tenant, q.line, q.part), 0, 0, 'WITHSCORES')[2] or false
  return { 'ok', rows, last and tonumber(last) or false }
end

function reads.inLine(q)
  local stored = call('HGET', P .. 'inline:' .. q.tenant, q.runId)
  if not stored then return { 'ok', false, 0 } end
  local place = unpackOne(stored)
  return { 'ok', place[1], call('ZRANK', lineKey(q.tenant, place[1]), place[2]) or 0 }
end
`;
