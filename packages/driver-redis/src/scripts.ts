import { createHash } from 'node:crypto';

/**
 * A step that the store takes as a whole. Sent by its hash; the store is given the text when it does not know it. A store
 * that is out of memory refuses the first write of a script if it could need some, and no later one: so those that must
 * work then begin with one that needs none, as XACK or PEXPIRE.
 */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

function script(name: string, ...parts: readonly string[]): Script {
  const text = parts.join('\n');
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

/** The store's clock, in milliseconds since the epoch: the only one that all parties share. */
const NOW = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/** Is the stream as long, or as large, as it may be? 0: any. Its size is asked for only when there is something in it. */
const ROOM = `
local function room(key, most, bytes)
  local length = redis.call('XLEN', key)
  if bytes > 0 and length > 8 and redis.call('MEMORY', 'USAGE', key) >= bytes then return 0 end
  return most > 0 and most - length or 1e9
end
local function add(key, body, deadline)
  if deadline == '' then redis.call('XADD', key, '*', 'body', body)
  else redis.call('XADD', key, '*', 'body', body, 'deadline', deadline) end
end`;

/** Puts an entry that somebody held into the stream for what was given back, marked: it is read before all others. */
const GIVE_BACK = `
local function giveBack(key, group, id, to)
  local entry = redis.call('XRANGE', key, id, id)[1]
  if redis.call('XACK', key, group, id) == 0 then return end
  redis.call('XDEL', key, id)
  if not entry then return end
  local fields = entry[2]
  local marked = false
  for i = 1, #fields, 2 do marked = marked or fields[i] == 'again' end
  if not marked then fields[#fields + 1] = 'again'; fields[#fields + 1] = '1' end
  redis.call('XADD', to, '*', unpack(fields))
end`;

/**
 * All that a consumer holds goes back; its name tells where it may hold something. `dismiss` removes the consumer itself,
 * `reap` does both for those whose lease is over: twice, a lease apart, as a read of theirs may still be under way at the
 * store while they are given up for the first time.
 */
const HAND_BACK = `
local function queuesOf(base, consumer)
  local server, listener = string.match(consumer, '^([^/]*)/([^/]*)/')
  if not server then return {} end
  local topic, own, fanout = base .. ':topic', base .. ':server:' .. server, base .. ':fanout:' .. listener
  return {
    { topic .. ':back', topic .. ':back' }, { topic, topic .. ':back' },
    { own .. ':back', own .. ':back' }, { own, own .. ':back' }, { fanout, fanout },
  }
end
local function handBack(base, group, consumer)
  for _, queue in ipairs(queuesOf(base, consumer)) do
    local held
    repeat
      held = redis.pcall('XPENDING', queue[1], group, '-', '+', 100, consumer)
      if held.err then break end
      for _, one in ipairs(held) do giveBack(queue[1], group, one[1], queue[2]) end
    until #held < 100
  end
end
local function dismiss(base, group, consumer)
  for _, queue in ipairs(queuesOf(base, consumer)) do
    redis.pcall('XGROUP', 'DELCONSUMER', queue[1], group, consumer)
  end
end
local function reap(leases, ended, base, group, time, lease)
  for _, consumer in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', time, 'LIMIT', 0, 10)) do
    handBack(base, group, consumer)
    redis.call('ZREM', leases, consumer)
    redis.call('ZADD', ended, time + lease, consumer)
  end
  for _, consumer in ipairs(redis.call('ZRANGEBYSCORE', ended, '-inf', time, 'LIMIT', 0, 10)) do
    handBack(base, group, consumer)
    dismiss(base, group, consumer)
    redis.call('ZREM', ended, consumer)
  end
end`;

/**
 * Keys: the stream. Arguments: most entries, most bytes, then body and deadline (empty for none) of each message.
 * Gives how many were taken, in their order; -1 when the destination was never declared: a replica, which may only not have
 * it yet, refuses the DEL.
 */
export const PUBLISH: Script = script(
  'publish',
  ROOM,
  `
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) return -1 end
local left = room(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
local taken = 0
for i = 3, #ARGV, 2 do
  if taken >= left then break end
  add(KEYS[1], ARGV[i], ARGV[i + 1])
  taken = taken + 1
end
return taken`,
);

/**
 * Keys: the subscribers. Arguments as above. Each subscriber that is still there gets each message, or none does when one
 * of them has no room. Gives how many were taken.
 */
export const FANOUT: Script = script(
  'fanout',
  NOW,
  ROOM,
  `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now())
local streams = {}
local left = 1e9
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local key = KEYS[1] .. ':' .. name
  if redis.call('EXISTS', key) == 1 then
    streams[#streams + 1] = key
    left = math.min(left, room(key, tonumber(ARGV[1]), tonumber(ARGV[2])))
  end
end
local taken = 0
for i = 3, #ARGV, 2 do
  if taken >= left then break end
  for _, key in ipairs(streams) do add(key, ARGV[i], ARGV[i + 1]) end
  taken = taken + 1
end
return taken`,
);

/**
 * Declares what a listener reads and begins its lease. Keys: leases, ended, subscribers, the fanout stream, then all of
 * its streams. Arguments: base of the keys, group, consumer, lease, life of the fanout stream, name of the subscriber. A group
 * begins at the first entry, so that what came before it is delivered.
 */
export const SUBSCRIBE: Script = script(
  'subscribe',
  NOW,
  GIVE_BACK,
  HAND_BACK,
  `
local base, group, consumer, lease, life = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
redis.call('PEXPIRE', KEYS[4], life)
for i = 5, #KEYS do
  local made = redis.pcall('XGROUP', 'CREATE', KEYS[i], group, '0', 'MKSTREAM')
  if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return redis.error_reply(made.err) end
end
local time = now()
redis.call('PEXPIRE', KEYS[4], life)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', time)
redis.call('ZADD', KEYS[3], time + life, ARGV[6])
redis.call('ZADD', KEYS[1], time + lease, consumer)
reap(KEYS[1], KEYS[2], base, group, time, lease)
return 1`,
);

/**
 * Keys: leases, ended, subscribers, the fanout stream. Arguments as of subscribe. Renews the lease, and gives back what
 * others held whose lease is over. Gives 0 when the own one was over, and what was held is somebody else's.
 */
export const RENEW: Script = script(
  'renew',
  NOW,
  GIVE_BACK,
  HAND_BACK,
  `
local base, group, consumer, lease, life = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local time = now()
if not redis.call('ZSCORE', KEYS[1], consumer) then return 0 end
redis.call('PEXPIRE', KEYS[4], life)
redis.call('ZADD', KEYS[1], time + lease, consumer)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', time)
redis.call('ZADD', KEYS[3], time + life, ARGV[6])
reap(KEYS[1], KEYS[2], base, group, time, lease)
return 1`,
);

/**
 * Keys and arguments as of renew, and how it ends. Gives back what a consumer held. `lost`: after a lost connection the store
 * may not know of the loss and still serve its last read, so that is ended by an entry of its own, and the consumer is looked
 * at once more, a lease later. `closed`: its listener has ended in order, and takes its fanout stream with it. `gone`: both.
 */
export const RETIRE: Script = script(
  'retire',
  NOW,
  GIVE_BACK,
  HAND_BACK,
  `
local base, group, consumer, lease = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if ARGV[7] ~= 'lost' then
  redis.call('ZREM', KEYS[3], ARGV[6])
  redis.call('DEL', KEYS[4])
end
handBack(base, group, consumer)
redis.call('ZREM', KEYS[1], consumer)
if ARGV[7] ~= 'closed' then
  redis.call('ZADD', KEYS[2], now() + lease, consumer)
  if redis.call('EXISTS', KEYS[4]) == 1 then redis.call('XADD', KEYS[4], '*', 'wake', '1') end
else dismiss(base, group, consumer) end
return 1`,
);

/** Ends the read of a listener, also one that is only on its way. Keys: its fanout stream. Arguments: the life of that. */
export const WAKE: Script = script(
  'wake',
  `
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 1 then redis.call('XADD', KEYS[1], '*', 'wake', '1') end
return 1`,
);

/**
 * Settles deliveries. Keys: leases, then the streams of the listener. Arguments: group, consumer, 'again' when it is
 * unknown whether this was done before, then verb (a: accept, r: release), number of the stream and id of each. Gives a
 * sign for each: 1 when it was there to be taken. Who acknowledges an entry first has it, whoever held it; and what is
 * missing at a repetition was taken by the first time, as nobody else takes anything while the lease holds.
 */
export const SETTLE: Script = script(
  'settle',
  GIVE_BACK,
  `
local group, backOf = ARGV[1], { 1, 1, 3, 3, 5 }
local before = ARGV[3] == 'again' and redis.call('ZSCORE', KEYS[1], ARGV[2])
local signs = {}
for i = 4, #ARGV, 3 do
  local stream, id = tonumber(ARGV[i + 1]), ARGV[i + 2]
  local key = KEYS[stream + 1]
  local sign = before and '1' or '0'
  if ARGV[i] == 'r' then giveBack(key, group, id, KEYS[backOf[stream] + 1])
  elseif redis.call('XACK', key, group, id) == 1 then
    redis.call('XDEL', key, id)
    sign = '1'
  end
  signs[#signs + 1] = sign
end
return table.concat(signs)`,
);

/**
 * Removes what has expired and nobody holds, a hundred entries at a time. Keys: the stream. Arguments: group, the id to
 * begin at. Gives the id to go on after, or nothing when that was the end.
 */
export const SWEEP: Script = script(
  'sweep',
  NOW,
  `
local time, last = now(), nil
local entries = redis.call('XRANGE', KEYS[1], ARGV[2], '+', 'COUNT', 100)
for _, entry in ipairs(entries) do
  last = entry[1]
  local fields = entry[2]
  for i = 1, #fields, 2 do
    if fields[i] == 'deadline' and tonumber(fields[i + 1]) <= time then
      local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], last, last, 1)
      if held.err or #held == 0 then redis.call('XDEL', KEYS[1], last) end
    end
  end
end
return #entries == 100 and last or false`,
);

/**
 * Keys: the stream of a reply queue. Arguments: group, its life. Makes it, or prolongs its life; gives 1 when it was made.
 * The group is there only because Redis makes no empty stream without.
 */
export const KEEP_REPLIES: Script = script(
  'keep replies',
  `
local made = 0
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
  made = 1
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return made`,
);

/** All of them: given to the store when a connection comes up, so that none has to be sent twice. */
export const SCRIPTS: readonly Script[] = Object.freeze([
  PUBLISH,
  FANOUT,
  SUBSCRIBE,
  RENEW,
  RETIRE,
  WAKE,
  SETTLE,
  SWEEP,
  KEEP_REPLIES,
]);
