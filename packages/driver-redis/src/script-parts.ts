import { createHash } from 'node:crypto';

/**
 * A step that the store takes as a whole. Sent by its hash; the store is given the text when it does not know it. A store
 * that is out of memory refuses the first write of a script if it could need some, and no later one: so those that must
 * work then begin with one that needs none, as LPOP or PEXPIRE.
 */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

export function script(name: string, ...parts: readonly string[]): Script {
  const text = parts.join('\n');
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

/** The store's clock, in milliseconds since the epoch: the only one that all parties share. */
export const NOW: string = `
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/** One sign in a list on which a reader blocks, and never more. With a life, in milliseconds, when the bell is one process's own. */
export const RING: string = `
local function ring(bell, life)
  if redis.call('LLEN', bell) == 0 then redis.call('RPUSH', bell, '1') end
  if life > 0 then redis.call('PEXPIRE', bell, life) end
end`;

/**
 * Is the list as long, or as large, as it may be? 0: any. Its size is asked for only when there is something in it. A bell that is
 * no list is an error here, before anything was added.
 */
export const ROOM: string = `
local function room(key, most, bytes)
  redis.call('LLEN', key .. ':bell')
  local length = redis.call('LLEN', key)
  if bytes > 0 and length > 8 and redis.call('MEMORY', 'USAGE', key) >= bytes then return 0 end
  return most > 0 and most - length or 1e9
end`;

/**
 * The messages of the arguments (most entries, most bytes, then the messages) into each of some lists, or into none when one of
 * them has no room; gives how many were taken. Each list is followed by the time until which it is there, or `inf`.
 */
export const ADD_TO_ALL: string = `
local function addToAll(lists, time)
  local taken = #ARGV - 2
  for i = 1, #lists, 2 do taken = math.min(taken, room(lists[i], tonumber(ARGV[1]), tonumber(ARGV[2]))) end
  if taken <= 0 then return 0 end
  for i = 1, #lists, 2 do
    local life = lists[i + 1] == 'inf' and 0 or lists[i + 1] - time
    redis.call('RPUSH', lists[i], unpack(ARGV, 3, 2 + taken))
    if life > 0 then redis.call('PEXPIRE', lists[i], life) end
    ring(lists[i] .. ':bell', life)
  end
  return taken
end`;

/** The life of what belongs to a queue: only that of a fanout has one. */
export const LIFE_OF: string = `
local function lifeOf(name, life) return string.sub(name, 1, 7) == 'fanout:' and life or 0 end`;

/**
 * What a consumer has fetched is named by its queue and a number, `server:host-1|17`: so it is known where it goes back to. It
 * is put, marked, into a list that is read before that of the queue; what has expired meanwhile is dropped.
 */
export const PUT_BACK: string = `
local function putBack(base, entry, value, life)
  local name = string.match(entry, '^(.*)|%d+$')
  local list = base .. ':' .. name
  local deadline = string.match(value, '^%d*')
  if deadline ~= '' and tonumber(deadline) <= now() then return end
  local rest = string.sub(value, #deadline + 1)
  if string.sub(rest, 1, 1) ~= '!' then value = deadline .. '!' .. rest end
  redis.call('RPUSH', list .. ':back', value)
  life = lifeOf(name, life)
  if life > 0 then redis.call('PEXPIRE', list .. ':back', life) end
  ring(list .. ':bell', life)
end`;

/**
 * All that a consumer holds goes back, in its order, and stays held until it is back; what has no name of ours goes. `reap` does
 * so for those whose lease is over, ten at a time, and gives whether there may be more.
 */
export const HAND_BACK: string = `
local function handBack(base, consumer, life)
  local held = base .. ':held:' .. consumer
  local all = redis.call('HGETALL', held)
  local entries = {}
  for i = 1, #all, 2 do
    local number = tonumber(string.match(all[i], '|(%d+)$'))
    if number then entries[#entries + 1] = { number, all[i], all[i + 1] } end
  end
  table.sort(entries, function(one, other) return one[1] < other[1] end)
  for _, entry in ipairs(entries) do
    putBack(base, entry[2], entry[3], life)
    redis.call('HDEL', held, entry[2])
  end
  redis.call('DEL', held)
end
local function reap(leases, base, time, life)
  local dead = redis.call('ZRANGEBYSCORE', leases, '-inf', time, 'LIMIT', 0, 10)
  for _, consumer in ipairs(dead) do
    handBack(base, consumer, life)
    redis.call('ZREM', leases, consumer)
  end
  return #dead == 10
end`;
