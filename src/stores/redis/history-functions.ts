/** The second part of the server's functions: commits and what belongs to one run, blobs, memories. They use those of the first part. */
import { scanMax } from './run-functions.ts';

export const historyFunctions: string = `
function writes.commit(q, bytes)
  local r = load(q.tenant, q.runId)
  if r and q.seq <= r.head then
    local stored = call('HGET', P .. 'cp:' .. r.id, int(q.seq))
    if stored and sumOf(stored) == sumOf(bytes[1]) then return { 'ok', holds(r, q.token) and 1 or 0 } end
  end
  if not holds(r, q.token) then return { 'CLAIM_FENCED', r and r.token or 0 } end
  if q.seq ~= r.head + 1 then return { 'COMMIT_CONFLICT', r.head } end
  call('HSET', P .. 'cp:' .. r.id, int(q.seq), bytes[1])
  call('HSET', P .. 'run:' .. r.id, 'head', int(q.seq), 'updatedAt', int(q.at))
  r.head = q.seq
  if q.graphHash then set(r, { graphHash = q.graphHash }) end
  if q.code then set(r, { code = q.code }) end
  if q.status and q.status ~= r.status then setStatus(r, q.status) end
  for _, waitId in ipairs(q.close or {}) do removeWait(r, waitId) end
  for i, w in ipairs(q.waits or {}) do openWait(r, w[1], w[2], w[3], bytes[1 + i]) end
  noteBlobs(r, q.blobs)
  for _, id in ipairs(q.take or {}) do
    local name = call('ZRANGEBYSCORE', P .. 'inbox:' .. r.id, int(id), int(id))[1]
    if name then
      call('ZREM', P .. 'inbox:' .. r.id, name)
      local m = unpackOne(call('HGET', P .. 'msg:' .. r.id, name))
      m[2] = true
      call('HSET', P .. 'msg:' .. r.id, name, pack(m))
    end
  end
  if q.take and call('EXISTS', P .. 'inbox:' .. r.id) == 0 then set(r, { messageAt = false }) end
  if q.releases then
    giveUp(r)
    if (r.deathsUnreleased or 0) > 0 then set(r, { deathsUnreleased = 0 }) end
  end
  if q.status or q.close or q.waits or q.take or q.releases then place(r) end
  if q.releases then wake(r.tenant, r.runId) end
  return { 'ok', q.releases and 0 or 1 }
end

function reads.checkpoints(q)
  local r, rows = load(q.tenant, q.runId), {}
  local seq, last = r and math.max(q.from, r.first) or 0, r and math.min(q.to, r.head) or -1
  while seq <= last and #rows < q.limit do
    local seqs = {}
    while seq <= last and #seqs < math.min(500, q.limit) do
      seqs[#seqs + 1] = int(seq)
      seq = seq + 1
    end
    for i, row in ipairs(call('HMGET', P .. 'cp:' .. r.id, unpack(seqs))) do
      if row and #rows < q.limit then rows[#rows + 1] = { tonumber(seqs[i]), row } end
    end
  end
  return { 'ok', rows }
end

function reads.snapshot(q)
  local key, newest = P .. 'snap:' .. named(q.tenant, q.runId), -1
  for _, seq in ipairs(call('HKEYS', key)) do
    seq = tonumber(seq)
    if seq <= q.seq and seq > newest then newest = seq end
  end
  return { 'ok', newest >= 0 and { newest, call('HGET', key, int(newest)) } }
end

local function hasCheckpoint(q) return call('HEXISTS', P .. 'cp:' .. named(q.tenant, q.runId), int(q.seq)) == 1 end

function writes.snapshotAt(q, bytes)
  if not hasCheckpoint(q) then return { 'CHECKPOINT_NOT_FOUND' } end
  call('HSETNX', P .. 'snap:' .. named(q.tenant, q.runId), int(q.seq), bytes[1])
  return { 'ok' }
end

function writes.tag(q)
  if not hasCheckpoint(q) then return { 'CHECKPOINT_NOT_FOUND' } end
  call('HSET', P .. 'tag:' .. named(q.tenant, q.runId), q.name, int(q.seq))
  return { 'ok' }
end

function frees.untag(q)
  call('HDEL', P .. 'tag:' .. named(q.tenant, q.runId), q.name)
  return { 'ok' }
end

function reads.tags(q) return { 'ok', call('HGETALL', P .. 'tag:' .. named(q.tenant, q.runId)) } end

local function post(q, bytes)
  local r = load(q.tenant, q.runId)
  if not r then return { 'RUN_NOT_FOUND' } end
  local name, row = q.kind .. ':' .. q.name, bytes[1]
  local isOpen = q.kind == 'answer' and call('HEXISTS', P .. 'wait:' .. r.id, q.name) == 1
  local stored = call('HGET', P .. 'msg:' .. r.id, name)
  local first = stored and unpackOne(stored)
  if first and not (first[2] and (isOpen or q.kind == 'cancel')) then
    if bodyOf(first[3]) == bodyOf(row) then return { 'ok', 'equal' } end
    return { 'ok', 'taken', bodyOf(first[3]) }
  end
  if q.isForOpen and isOver(r) then return { 'ok', 'ended' } end
  if q.kind == 'answer' and not isOpen then return { 'ok', 'closed' } end
  for _, seat in ipairs(q.seats) do
    local holder = call('HGET', P .. 'seat:' .. r.id, seat)
    if holder and holder ~= q.name then return { 'ok', 'seated', seat, holder } end
  end
  for _, seat in ipairs(q.seats) do call('HSET', P .. 'seat:' .. r.id, seat, q.name) end
  local id = nextNumber()
  call('HSET', P .. 'msg:' .. r.id, name, pack({ id, false, row, 1 }))
  noteBlobs(r, q.blobs)
  call('ZADD', P .. 'inbox:' .. r.id, int(id), name)
  set(r, { messageAt = math.min(r.messageAt or never, q.at, now()) })
  place(r)
  wake(r.tenant, r.runId)
  return { 'ok', 'accepted' }
end

-- The run of the message is admitted first if it is not there: the bytes behind the message's are those of its admission.
function writes.post(q, bytes)
  if not q.admission or load(q.tenant, q.runId) then return post(q, bytes) end
  local made = writes.admit(q.admission, { unpack(bytes, 2) })
  if made[1] ~= 'ok' then return made end
  post(q, bytes)
  return { 'ok', 'created' }
end

function reads.hasMessage(q)
  return { 'ok', call('HEXISTS', P .. 'msg:' .. named(q.tenant, q.runId), q.kind .. ':' .. q.name) }
end

function reads.messages(q)
  local id, rows = named(q.tenant, q.runId), {}
  for i, name in ipairs(call('ZRANGE', P .. 'inbox:' .. id, 0, -1)) do
    local m = unpackOne(call('HGET', P .. 'msg:' .. id, name))
    local kind, rest = name:match('^(%l+):(.*)$')
    rows[i] = { m[1], kind, rest, m[3] }
  end
  return { 'ok', rows }
end

local function isAnswered(id, waitId) return call('ZSCORE', P .. 'inbox:' .. id, 'answer:' .. waitId) and true or false end

-- The waits of a page, and where to go on if there may be more that were not looked at.
function reads.waits(q)
  local isOwed = q.kinds and has(q.kinds, 'delivery')
  local rows, seen, key = {}, 0, waitsKey(q.tenant, isOwed and 'delivery')
  local from = q.due and '(' .. pad(q.due) .. pad(q.order) .. '\\255' or '-'
  local members
  if q.runId then
    members = {}
    local id = named(q.tenant, q.runId)
    for _, waitId in ipairs(call('HKEYS', P .. 'wait:' .. id)) do
      local w = unpackOne(call('HGET', P .. 'wait:' .. id, waitId))
      local member = pad(w[3]) .. pad(w[1]) .. pack({ q.runId, waitId })
      if from == '-' or member > from:sub(2) then members[#members + 1] = member end
    end
    table.sort(members)
  end
  while true do
    local page = members or call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, 100)
    for _, member in ipairs(page) do
      local runId, waitId = unpack(unpackOne(member:sub(33)))
      local id = named(q.tenant, runId)
      local w = unpackOne(call('HGET', P .. 'wait:' .. id, waitId))
      from, seen = '(' .. member, seen + 1
      if q.dueBy and w[3] > q.dueBy then return { 'ok', rows, false } end
      local isWanted
      if q.kinds then isWanted = has(q.kinds, w[2]) else isWanted = w[2] ~= 'delivery' end
      if isWanted and (q.isAnswered == nil or q.isAnswered == isAnswered(id, waitId)) then
        rows[#rows + 1] = { w[3], w[1], runId, call('HGET', P .. 'run:' .. id, 'graphId'), waitId, w[2], w[4] }
        if #rows > q.limit then return { 'ok', rows, false } end
      end
      if not members and seen >= ${scanMax} then return { 'ok', rows, { w[3], w[1] } } end
    end
    if members or #page < 100 then return { 'ok', rows, false } end
  end
end

function frees.clear(q)
  local r = load(q.tenant, q.runId)
  local stored = r and call('HGET', P .. 'wait:' .. r.id, q.waitId)
  if stored and unpackOne(stored)[2] == 'delivery' then removeWait(r, q.waitId) end
  return { 'ok' }
end

function frees.prune(q, bytes)
  local r = load(q.tenant, q.runId)
  if not holds(r, q.token) then return { 'CLAIM_FENCED', r and r.token or 0 } end
  local needed, cp, snap = { [r.head] = true }, P .. 'cp:' .. r.id, P .. 'snap:' .. r.id
  local tags = call('HGETALL', P .. 'tag:' .. r.id)
  for i = 2, #tags, 2 do needed[tonumber(tags[i])] = true end
  for _, fork in ipairs(call('ZRANGE', index(r.tenant, 'parent:' .. r.runId), 0, -1)) do
    needed[load(r.tenant, fork).parentSeq] = true
  end
  for _, seq in ipairs(q.remove) do if needed[seq] then return { 'COMMIT_CONFLICT', r.head, seq } end end
  for _, seq in ipairs(q.replace) do
    if call('HEXISTS', cp, int(seq)) == 0 then return { 'COMMIT_CONFLICT', r.head, seq } end
  end
  for _, seq in ipairs(q.remove) do
    call('HDEL', cp, int(seq))
    call('HDEL', snap, int(seq))
  end
  for i, seq in ipairs(q.replace) do call('HSET', cp, int(seq), bytes[i]) end
  for i, seq in ipairs(q.snapshots) do call('HSETNX', snap, int(seq), bytes[#q.replace + i]) end
  set(r, { prunedBelow = q.prunedBelow })
  return { 'ok' }
end

function writes.label(q, bytes)
  local r = load(q.tenant, q.runId)
  if not r then return { 'RUN_NOT_FOUND' } end
  local meta = call('HGET', P .. 'run:' .. r.id, 'meta') or ''
  if meta ~= bytes[1] then return { 'ok', meta == bytes[2] and 1 or 0 } end
  for _, label in ipairs(labelsOf(r)) do call('ZREM', index(r.tenant, labelIndex(label[1], label[2])), r.runId) end
  set(r, { labels = #q.labels > 0 and pack(q.labels) })
  call('HSET', P .. 'run:' .. r.id, 'meta', bytes[2])
  for _, label in ipairs(q.labels) do call('ZADD', index(r.tenant, labelIndex(label[1], label[2])), int(r.no), r.runId) end
  return { 'ok', 1 }
end

function writes.live(q)
  local key = P .. 'live:' .. named(q.tenant, q.runId)
  if q.all then call('UNLINK', key) end
  for _, n in ipairs(q.remove) do call('HDEL', key, int(n)) end
  for _, piece in ipairs(q.add) do call('HSETNX', key, int(piece[1]), piece[2]) end
  call('PEXPIRE', key, dayMs)
  return { 'ok' }
end

function reads.lives(q)
  return { 'ok', call('HGETALL', P .. 'live:' .. named(q.tenant, q.runId)) }
end

-- Pieces of bytes are written first, under a key that ends by itself; the last call makes them a blob.
function writes.blobPiece(q, bytes)
  local key = P .. 'blob:' .. named(q.tenant, q.hash)
  call('HSET', key, int(q.no), bytes[1])
  if not call('HGET', P .. 'blobs:' .. q.tenant, q.hash) then call('PEXPIRE', key, dayMs) end
  return { 'ok' }
end

function writes.blobEnd(q)
  local key = P .. 'blob:' .. named(q.tenant, q.hash)
  if call('HLEN', key) ~= q.pieces then return { 'ok', 0 } end
  call('PERSIST', key)
  call('HSET', P .. 'blobs:' .. q.tenant, q.hash, int(q.size) .. ':' .. int(now()))
  call('ZADD', P .. 'hashes:' .. q.tenant, 0, q.hash)
  return { 'ok', 1 }
end

local function blobOf(q)
  local stored = call('HGET', P .. 'blobs:' .. q.tenant, q.hash)
  if not stored then return nil end
  local size, at = stored:match('^(%d+):(%d+)$')
  return tonumber(size), tonumber(at)
end

function reads.blob(q) return { 'ok', blobOf(q) or false } end

function writes.touch(q)
  local size = blobOf(q)
  if size then call('HSET', P .. 'blobs:' .. q.tenant, q.hash, int(size) .. ':' .. int(now())) end
  return { 'ok', size and 1 or 0 }
end

function reads.piece(q) return { 'ok', call('HGET', P .. 'blob:' .. named(q.tenant, q.hash), int(q.no)) } end

function reads.sweep(q)
  local rows, at = {}, now()
  for i, hash in ipairs(call('ZRANGEBYLEX', P .. 'hashes:' .. q.tenant, '(' .. q.cursor, '+', 'LIMIT', 0, q.limit)) do
    local _, touchedAt = blobOf({ tenant = q.tenant, hash = hash })
    rows[i] = { hash, at - touchedAt }
  end
  return { 'ok', rows }
end

function frees.blobRemove(q)
  local _, touchedAt = blobOf(q)
  if not touchedAt or now() - touchedAt <= q.olderThanMs then return { 'ok', 0 } end
  call('HDEL', P .. 'blobs:' .. q.tenant, q.hash)
  call('ZREM', P .. 'hashes:' .. q.tenant, q.hash)
  call('UNLINK', P .. 'blob:' .. named(q.tenant, q.hash))
  return { 'ok', 1 }
end

function writes.remember(q)
  local owner = named(q.user, q.session)
  if call('SADD', P .. 'memkeys:' .. owner, q.key) == 0 then return { 'ok' } end
  for _, content in ipairs(q.contents) do call('RPUSH', P .. 'mem:' .. owner, int(now()) .. ':' .. content) end
  return { 'ok' }
end

-- The newest entries before the last 'skip' ones.
function reads.memories(q)
  return { 'ok', call('LRANGE', P .. 'mem:' .. named(q.user, q.session), -q.skip - q.limit, -q.skip - 1) }
end

function frees.forget(q)
  call('UNLINK', P .. 'mem:' .. named(q.user, q.session), P .. 'memkeys:' .. named(q.user, q.session))
  return { 'ok' }
end
`;
