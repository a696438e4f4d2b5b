/**
 * Lua scripts with which Redis counts the rate limits: admit, release, undo, renew. The arithmetic is that of
 * `domain/limits.ts`. All keys of an account share a hash tag, so that they are on one node of a cluster.
 *
 * An account or a key is one string: when it was written (microseconds of the server's clock), and after how many
 * milliseconds its request and token buckets are full again, so that a server's clock that is set back costs nobody
 * anything. Requests in flight are leases in a sorted set, by their expiry.
 */
import { createHash } from 'node:crypto'
import type { AccountId, KeyId, TeamId } from '../../domain/ids.ts'

export const WINDOW_MS = 60_000
/** Leases of a process that was killed expire after this time. */
export const LEASE_MS = 60_000

/**
 * The share of a limit that may be spent beyond what is counted, each time that counts are lost: in Redis (restart, flush,
 * failover to an empty replica), and in processes that count locally. Both together stay within a tenth.
 */
export const SLACK = 0.05

export interface Script {
  readonly lua: string
  readonly sha: string
}

/** Microseconds. */
const SERVER_TIME = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]`

const COMMON = `
local WINDOW = ${WINDOW_MS}
local LEASE = ${LEASE_MS}
local TOLERANCE = 1e-6
local SLACK = ${SLACK}

-- A key that expires has a full bucket.
local function write(key, requests, tokens)
  local longest = math.min(math.max(requests, tokens, 0), 1e12)
  redis.call('SET', key, struct.pack('<ddd', now, requests, tokens), 'PX', math.ceil(longest) + WINDOW)
end

local function read(key)
  local stored = redis.call('GET', key)
  if not stored then return 0, 0 end
  local at, requests, tokens = struct.unpack('<ddd', stored)
  -- The clock was set back: time counts from now on.
  if at > now then
    write(key, requests, tokens)
    at = now
  end
  local gone = (now - at) / 1000
  return requests - gone, tokens - gone
end
`

const LEASES = `
local function lease(key, id)
  redis.call('ZADD', key, string.format('%.0f', now + LEASE * 1000), id)
end

local function expire(key)
  redis.call('PEXPIRE', key, LEASE + 1000)
end
`

/**
 * KEYS: the account, its leases, since when requests are counted here; its key, then its team, where these have a limit.
 * ARGV: requests a minute of the account, of the key, tokens a minute (each 0: no limit), tokens wanted, concurrency
 * limit, lease, 1 where the call is a repeat, which counts once; requests a minute of the team.
 * Returns whether it was admitted, whether the concurrency limit is reached, and of each of the four limits what remains,
 * and the microseconds until it is full and until a repeat can succeed. A refusal counts nowhere.
 */
const ADMIT = `
-- What other processes may have spent uncounted, as milliseconds until it has refilled.
local function uncounted(key)
  local since = tonumber(redis.call('GET', key) or '')
  if not since then since = now - SLACK * WINDOW * 1000 elseif since <= now then return WINDOW - (now - since) / 1000
  else since = now end
  redis.call('SET', key, string.format('%.0f', since))
  return WINDOW - (now - since) / 1000
end

local function spend(limit, cost, owed)
  if limit == 0 then return owed, 0 end
  local before = math.max(owed, 0)
  local after = before + WINDOW / limit * math.min(cost, limit)
  local excess = after - WINDOW
  if excess > TOLERANCE then return before, excess end
  return after, 0
end

local function remaining(limit, owed)
  return math.max(0, math.floor((WINDOW - owed) * limit / WINDOW + TOLERANCE))
end

-- Expired leases matter only at the limit; those that expire too late are of a clock that was set back.
local function full(key, limit)
  if redis.call('ZCARD', key) < limit then return false end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + LEASE * 1000), '+inf')
  return redis.call('ZCARD', key) >= limit
end

local ofAccount, ofKey, ofTokens = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ofTeam = tonumber(ARGV[8] or '0')
local teamKey = KEYS[ofKey > 0 and 5 or 4]
local owed, tokens = 0, 0
local owedByKey, owedByTeam = 0, 0
if ofAccount > 0 or ofTokens > 0 then owed, tokens = read(KEYS[1]) end
if ofKey > 0 then owedByKey = read(KEYS[4]) end
if ofTeam > 0 then owedByTeam = read(teamKey) end
local lost = uncounted(KEYS[3])
if ofAccount > 0 then owed = math.max(owed, lost) end
if ofTokens > 0 then tokens = math.max(tokens, lost) end
if ofKey > 0 then owedByKey = math.max(owedByKey, lost) end
if ofTeam > 0 then owedByTeam = math.max(owedByTeam, lost) end
local counted = ARGV[7] == '1' and redis.call('ZSCORE', KEYS[2], ARGV[6])
local requests, wanted = 1, tonumber(ARGV[4])
if counted then requests, wanted = 0, 0 end
local wait, waitOfKey, waitOfTeam, waitOfTokens
owed, wait = spend(ofAccount, requests, owed)
owedByKey, waitOfKey = spend(ofKey, requests, owedByKey)
owedByTeam, waitOfTeam = spend(ofTeam, requests, owedByTeam)
tokens, waitOfTokens = spend(ofTokens, wanted, tokens)
local at_limit = not counted and full(KEYS[2], tonumber(ARGV[5]))
local admitted = counted or (not at_limit and wait + waitOfKey + waitOfTeam + waitOfTokens == 0)
if admitted then
  if ofAccount > 0 or ofTokens > 0 then write(KEYS[1], owed, tokens) end
  if ofKey > 0 then write(KEYS[4], owedByKey, 0) end
  if ofTeam > 0 then write(teamKey, owedByTeam, 0) end
  lease(KEYS[2], ARGV[6])
  expire(KEYS[2])
end
return {
  admitted and 1 or 0, at_limit and 1 or 0,
  remaining(ofAccount, owed), math.ceil(owed * 1000), math.ceil(wait * 1000),
  remaining(ofKey, owedByKey), math.ceil(owedByKey * 1000), math.ceil(waitOfKey * 1000),
  remaining(ofTokens, tokens), math.ceil(tokens * 1000), math.ceil(waitOfTokens * 1000),
  remaining(ofTeam, owedByTeam), math.ceil(owedByTeam * 1000), math.ceil(waitOfTeam * 1000),
}
`

/** KEYS: the account, its leases. ARGV: milliseconds by which its token bucket is full sooner, then the leases that ended. */
const RELEASE = `
local less = tonumber(ARGV[1])
if less ~= 0 then
  local owed, tokens = read(KEYS[1])
  write(KEYS[1], owed, tokens - less)
end
for index = 2, #ARGV do redis.call('ZREM', KEYS[2], ARGV[index]) end
return 1
`

/**
 * Undoes an admission whose reply came too late; nothing where it was not granted.
 * KEYS: the account, its leases; its key and its team, where these have a limit. ARGV: the lease, then milliseconds by which
 * the buckets are full sooner: the account's requests and tokens, then the requests of the further KEYS.
 */
const UNDO = `
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
local owed, tokens = read(KEYS[1])
write(KEYS[1], owed - tonumber(ARGV[2]), tokens - tonumber(ARGV[3]))
for index = 3, #KEYS do
  owed = read(KEYS[index])
  write(KEYS[index], owed - tonumber(ARGV[index + 1]), 0)
end
return 1
`

/** KEYS: since when requests are counted here. Processes counted locally until now, and may have spent their shares. */
const RESUME = `
redis.call('SET', KEYS[1], string.format('%.0f', now))
return 1
`

/** KEYS: an account's leases. ARGV: those that still run, which restores what the server lost. */
const RENEW = `
for index = 1, #ARGV do lease(KEYS[1], ARGV[index]) end
expire(KEYS[1])
return 1
`

/** @param time Lua that says what `now` is, in microseconds. */
export function admitScript(time: string): Script {
  return scriptOf(time + COMMON + LEASES + ADMIT)
}

/** @param time Lua that says what `now` is, in microseconds. */
export function releaseScript(time: string): Script {
  return scriptOf(time + COMMON + RELEASE)
}

export const SCRIPTS = {
  admit: admitScript(SERVER_TIME),
  release: releaseScript(SERVER_TIME),
  undo: scriptOf(SERVER_TIME + COMMON + UNDO),
  resume: scriptOf(`${SERVER_TIME}\n${RESUME}`),
  renew: scriptOf(`${SERVER_TIME}\nlocal LEASE = ${LEASE_MS}${LEASES}${RENEW}`),
} as const

/** State of a limit after an admission; after a refusal, before it. */
export interface CountedLimit {
  readonly remaining: number
  readonly resetMs: number
  /** 0 when it would allow. */
  readonly retryAfterMs: number
}

export interface AdmitAnswer {
  readonly admitted: boolean
  readonly isFull: boolean
  readonly account: CountedLimit
  readonly key: CountedLimit
  readonly tokens: CountedLimit
  readonly team: CountedLimit
}

/** Undefined for an invalid reply. */
export function readAnswer(reply: unknown): AdmitAnswer | undefined {
  if (!Array.isArray(reply) || reply.length !== 14) return undefined
  const numbers: readonly unknown[] = reply
  if (!numbers.every((number) => typeof number === 'number')) return undefined
  return {
    admitted: numbers[0] === 1,
    isFull: numbers[1] === 1,
    account: countedLimit(numbers, 2),
    key: countedLimit(numbers, 5),
    tokens: countedLimit(numbers, 8),
    team: countedLimit(numbers, 11),
  }
}

function countedLimit(numbers: readonly number[], first: number): CountedLimit {
  const [remaining = 0, resetUs = 0, retryAfterUs = 0] = [numbers[first], numbers[first + 1], numbers[first + 2]]
  return { remaining, resetMs: Math.max(0, resetUs) / 1000, retryAfterMs: retryAfterUs / 1000 }
}

/** Since when everything is counted at the server, in microseconds of its clock. */
export const SINCE_KEY = 'turnpike:since'

export function accountKey(account: AccountId): string {
  return `turnpike:{${account}}`
}

export function leasesKey(account: AccountId): string {
  return `turnpike:{${account}}:leases`
}

/** @param key Or a team. */
export function keyKey(account: AccountId, key: KeyId | TeamId): string {
  return `turnpike:{${account}}:${key}`
}

function scriptOf(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}
