import { RING, type Script, script } from './script-parts.js';

/**
 * Makes a reply queue, or prolongs its life. Keys: the set of what was declared, its state, the list, the bell. Arguments: its life,
 * and the name of a new reader, or nothing: from then on older readers are given nothing. Gives whether it was made, and how many
 * replies were removed from it before.
 */
export const KEEP_REPLIES: Script = script(
  'keep replies',
  RING,
  `
local life = tonumber(ARGV[1])
redis.call('PEXPIRE', KEYS[3], life)
local made = redis.call('SADD', KEYS[1], 'replies')
redis.call('HSETNX', KEYS[2], 'removed', 0)
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[2], 'reader', ARGV[2])
  ring(KEYS[4], life)
end
redis.call('PEXPIRE', KEYS[1], life)
redis.call('PEXPIRE', KEYS[2], life)
return { made, tonumber(redis.call('HGET', KEYS[2], 'removed')) }`,
);

/**
 * Removes the replies that were received, and reads on. Keys: state, list, bell, the set of what was declared. Arguments: reader, how many were received since the
 * list was made, most to be read, bytes that are enough. So it may be done twice. Gives how many are removed, then the replies; nothing to
 * an older reader, whose connection only seemed to be there, or when the queue must be made again.
 */
export const READ_REPLIES: Script = script(
  'read replies',
  RING,
  `
local state = redis.call('HMGET', KEYS[1], 'reader', 'removed')
local function onlyRing()
  local life = redis.call('PTTL', KEYS[1])
  if redis.call('LLEN', KEYS[2]) > 0 then ring(KEYS[3], life) end
end
if state[1] ~= ARGV[1] or redis.call('EXISTS', KEYS[4]) == 0 then onlyRing() return false end
local removed, received, most, bytes = tonumber(state[2]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if received > removed then
  redis.call('LTRIM', KEYS[2], received - removed, -1)
  redis.call('HSET', KEYS[1], 'removed', received)
  removed = received
end
local got = { removed }
while #got <= most and bytes > 0 do
  local values = redis.call('LRANGE', KEYS[2], #got - 1, #got + 14)
  for _, value in ipairs(values) do
    got[#got + 1] = value
    bytes = bytes - #value
  end
  if #values < 16 then return got end
end
if most > 0 then onlyRing() end
return got`,
);
