import { KEEP_REPLIES, READ_REPLIES } from './reply-scripts.js';
import {
  ADD_TO_ALL,
  HAND_BACK,
  LIFE_OF,
  NOW,
  PUT_BACK,
  RING,
  ROOM,
  type Script,
  script,
} from './script-parts.js';

/**
 * Keys: the list, the set of what was declared, the bell. Arguments: member of the set, most entries, most bytes, then the
 * messages. Gives how many were taken, in their order; -1 when the destination was never declared: a replica, which may only
 * not have it yet, refuses the SREM.
 */
export const PUBLISH: Script = script(
  'publish',
  RING,
  ROOM,
  `
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then redis.call('SREM', KEYS[2], ARGV[1]) return -1 end
local taken = math.min(room(KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])), #ARGV - 3)
if taken <= 0 then return 0 end
local life = redis.call('PTTL', KEYS[2])
redis.call('RPUSH', KEYS[1], unpack(ARGV, 4, 3 + taken))
if life > 0 then redis.call('PEXPIRE', KEYS[1], life) end
ring(KEYS[3], life)
return taken`,
);

/**
 * Keys: the subscribers. Arguments: most entries, most bytes, then the messages. Each subscriber that is still there gets them.
 */
export const FANOUT: Script = script(
  'fanout',
  NOW,
  RING,
  ROOM,
  ADD_TO_ALL,
  `
local time = now()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time)
local lists = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #lists, 2 do lists[i] = KEYS[1] .. ':' .. lists[i] end
return addToAll(lists, time)`,
);

/**
 * Keys: the list of a topic's notifications, and its pools. Arguments: most entries, most bytes, then the messages. The list and
 * that of each pool get them.
 */
export const NOTIFY: Script = script(
  'notify',
  NOW,
  RING,
  ROOM,
  ADD_TO_ALL,
  `
local time = now()
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', time)
local pools = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
return addToAll({ KEYS[1], 'inf', unpack(pools) }, time)`,
);

/** Names the list of a pool for topics. Keys: the pools of each. Arguments: that list, and for how long: `inf`, or 0 to leave. */
export const JOIN_POOL: Script = script(
  'join pool',
  NOW,
  `
for _, pools in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', pools, '-inf', now())
  if ARGV[2] == '0' then redis.call('ZREM', pools, ARGV[1])
  else redis.call('ZADD', pools, ARGV[2] == 'inf' and 'inf' or now() + tonumber(ARGV[2]), ARGV[1]) end
end
return 1`,
);

/**
 * Declares what a listener reads and begins its lease. Keys: leases, subscribers, the set of what is declared. Arguments: base of
 * the keys, consumer, lease, life of what is the listener's own, listener, then the members of the set. What is there already
 * is found at once, as its bell is rung. Gives 2 when there may be more whose lease is over, else 1.
 */
export const SUBSCRIBE: Script = script(
  'subscribe',
  NOW,
  RING,
  LIFE_OF,
  PUT_BACK,
  HAND_BACK,
  `
local base, consumer, lease, life, listener = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local time = now()
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', time)
if #ARGV > 5 then redis.call('SADD', KEYS[3], unpack(ARGV, 6)) end
redis.call('ZADD', KEYS[2], time + life, listener)
redis.call('ZADD', KEYS[1], time + lease, consumer)
local more = reap(KEYS[1], base, time, life)
ring(KEYS[2] .. ':' .. listener .. ':bell', life)
return more and 2 or 1`,
);

/**
 * Keys and arguments as of subscribe. Renews the lease, gives back what others held whose lease is over, and rings for what
 * waits: a sign is lost with the connection that was given it. Gives 0 when the own lease was over, and what was held is
 * somebody else's, or when what was declared is gone; 2 when there may be more whose lease is over, else 1.
 */
export const RENEW: Script = script(
  'renew',
  NOW,
  RING,
  LIFE_OF,
  PUT_BACK,
  HAND_BACK,
  `
local base, consumer, lease, life, listener = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local time = now()
if not redis.call('ZSCORE', KEYS[1], consumer) then return 0 end
for _, declared in ipairs(#ARGV > 5 and redis.call('SMISMEMBER', KEYS[3], unpack(ARGV, 6)) or {}) do
  if declared == 0 then return 0 end
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', time)
redis.call('ZADD', KEYS[2], time + life, listener)
redis.call('ZADD', KEYS[1], time + lease, consumer)
local own = KEYS[2] .. ':' .. listener
if redis.call('EXISTS', own, own .. ':back', own .. ':bell') > 0 then
  for _, key in ipairs({ own, own .. ':back', own .. ':bell' }) do redis.call('PEXPIRE', key, life) end
end
local more = reap(KEYS[1], base, time, life)
for i = 6, #ARGV do
  local list = base .. ':' .. ARGV[i]
  if redis.call('EXISTS', list, list .. ':back') > 0 then ring(list .. ':bell', 0) end
end
return more and 2 or 1`,
);

/**
 * Keys and arguments as of subscribe, but for the members: how it ends. Gives back what a consumer held. `lost`: with its
 * connection; its listener will come again. `closed`: the listener has ended, and takes what is its own with it.
 */
export const RETIRE: Script = script(
  'retire',
  NOW,
  RING,
  LIFE_OF,
  PUT_BACK,
  HAND_BACK,
  `
local base, consumer, life, listener = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
redis.call('ZREM', KEYS[1], consumer)
handBack(base, consumer, life)
if ARGV[6] == 'closed' then
  local own = KEYS[2] .. ':' .. listener
  redis.call('ZREM', KEYS[2], listener)
  redis.call('DEL', own, own .. ':back', own .. ':bell')
end
return 1`,
);

/** Ends the wait of a listener, also one that is only on its way. Keys: its bell. Arguments: the life of that. */
export const WAKE: Script = script(
  'wake',
  RING,
  `
redis.call('PEXPIRE', KEYS[1], ARGV[1])
ring(KEYS[1], tonumber(ARGV[1]))
return 1`,
);

/**
 * Fetches for a consumer, and remembers what it has. Keys: leases, what it holds, then of each of its queues the list, that of what
 * was given back, and the bell. Arguments: base of the keys, consumer, life of what is the listener's own, number of the first
 * entry, room, bytes that are enough. Each queue has its turn before one takes all the room. Gives the places of the queues, a sign
 * each, then the messages; nothing when the lease is over: then it is left to others.
 */
export const FETCH: Script = script(
  'fetch',
  RING,
  LIFE_OF,
  `
local base, life = ARGV[1], tonumber(ARGV[3])
local queues = {}
for i = 3, #KEYS, 3 do
  if redis.call('EXISTS', KEYS[i], KEYS[i + 1]) > 0 then
    local name = string.sub(KEYS[i], #base + 2)
    queues[#queues + 1] = { list = KEYS[i], back = KEYS[i + 1], bell = KEYS[i + 2], name = name, sign = string.char(i / 3) }
  end
end
local function ringForTheRest()
  for _, queue in ipairs(queues) do
    if redis.call('EXISTS', queue.list, queue.back) > 0 then ring(queue.bell, lifeOf(queue.name, life)) end
  end
end
if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then ringForTheRest() return false end
local number, left, bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local first, places, got = number, {}, { '' }
local function take(queue, key, most)
  while most > 0 and bytes > 0 do
    local values = redis.call('LPOP', key, math.min(most, 16))
    if not values then break end
    local fields = {}
    for i, value in ipairs(values) do
      fields[2 * i - 1] = queue.name .. '|' .. number
      fields[2 * i] = value
      got[#got + 1] = value
      places[#places + 1] = queue.sign
      number = number + 1
      bytes = bytes - #value
    end
    redis.call('HSET', KEYS[2], unpack(fields))
    most = most - #values
    left = left - #values
  end
  return most
end
for _, part in ipairs({ #queues, 1 }) do
  for turn = 0, #queues - 1 do
    local queue = queues[(first + turn) % #queues + 1]
    local rest = take(queue, queue.back, math.ceil(left / part))
    take(queue, queue.list, rest)
  end
end
ringForTheRest()
got[1] = table.concat(places)
return got`,
);

/**
 * Settles deliveries. Keys: leases, what the consumer holds. Arguments: base of the keys, consumer, life of what is the
 * listener's own, how many are accepted, then their entries, then those that go back. Gives 1 when all of them were the consumer's,
 * also when this was done before; 0 when its lease is over: then others have them, whatever it has done with them.
 */
export const SETTLE: Script = script(
  'settle',
  NOW,
  RING,
  LIFE_OF,
  PUT_BACK,
  `
if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
local accepted = tonumber(ARGV[4])
if accepted > 0 then redis.call('HDEL', KEYS[2], unpack(ARGV, 5, 4 + accepted)) end
for i = 5 + accepted, #ARGV do
  local value = redis.call('HGET', KEYS[2], ARGV[i])
  if value then
    redis.call('HDEL', KEYS[2], ARGV[i])
    putBack(ARGV[1], ARGV[i], value, tonumber(ARGV[3]))
  end
end
return 1`,
);

/**
 * Removes what has expired and nobody has fetched, a hundred entries at a time. Keys: the list. Arguments: the place to begin
 * at. Gives the place to go on at, or nothing when that was the end.
 */
export const SWEEP: Script = script(
  'sweep',
  NOW,
  `
local time, from, removed = now(), tonumber(ARGV[1]), 0
local values = redis.call('LRANGE', KEYS[1], from, from + 99)
for i, value in ipairs(values) do
  local deadline = string.match(value, '^%d+')
  if deadline and tonumber(deadline) <= time then
    redis.call('LSET', KEYS[1], from + i - 1, '')
    removed = removed + 1
  end
end
if removed > 0 then redis.call('LREM', KEYS[1], 0, '') end
return #values == 100 and from + 100 - removed or false`,
);

/** All of them: given to the store when a connection comes up, so that none has to be sent twice. */
export const SCRIPTS: readonly Script[] = Object.freeze([
  PUBLISH,
  FANOUT,
  NOTIFY,
  JOIN_POOL,
  SUBSCRIBE,
  RENEW,
  RETIRE,
  WAKE,
  FETCH,
  SETTLE,
  SWEEP,
  KEEP_REPLIES,
  READ_REPLIES,
]);
