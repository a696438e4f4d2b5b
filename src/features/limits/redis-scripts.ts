/**
 * The rate limits as Redis counts them: one script for an admission, one for what comes back, one for what goes on. The
 * arithmetic is that of `lib/gcra.ts`. All keys of an account share a hash tag, so that they are on one node of a cluster.
 *
 * Of an account or a key there is one string: when it was written (microseconds of the server's clock), and how many
 * milliseconds it then was from being rested, in requests and in tokens. A server's clock that is set back thus costs
 * nobody anything. Requests under way are leases in a sorted set, by the time when they end.
 */
import { createHash } from 'node:crypto'
import type { AccountId, KeyId } from '../../domain/ids.ts'

export const WINDOW_MS = 60_000
/** Places of a process that was killed are free again after this time. */
export const LEASE_MS = 60_000

export interface Script {
  readonly lua: string
  readonly sha: string
}

/** Microseconds. */
export const SERVER_TIME = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]`

const COMMON = `
local WINDOW = ${WINDOW_MS}
local LEASE = ${LEASE_MS}
local TOLERANCE = 1e-6

-- What is forgotten has long been rested.
local function write(key, requests, tokens)
  local longest = math.min(math.max(requests, tokens, 0), 1e12)
  redis.call('SET', key, struct.pack('<ddd', now, requests, tokens), 'PX', math.ceil(longest) + WINDOW)
end

local function read(key)
  local kept = redis.call('GET', key)
  if not kept then return 0, 0 end
  local at, requests, tokens = struct.unpack('<ddd', kept)
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

local function keep(key)
  redis.call('PEXPIRE', key, LEASE + 1000)
end
`

/**
 * KEYS: the account, its leases; its key, where that has a limit.
 * ARGV: requests a minute of the account, of the key, tokens a minute (each 0: no limit), tokens wanted, places, lease.
 * Answers whether it was admitted, whether places are lacking, and of each of the three limits what remains, and the
 * microseconds until it is whole and until a repeat can succeed. A refusal counts nowhere.
 */
const ADMIT = `
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

-- Leases that ended matter only where places are wanted; those that end too late are of a clock that was set back.
local function full(key, places)
  if redis.call('ZCARD', key) < places then return false end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now))
  redis.call('ZREMRANGEBYSCORE', key, string.format('(%.0f', now + LEASE * 1000), '+inf')
  return redis.call('ZCARD', key) >= places
end

local ofAccount, ofKey, ofTokens = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local owed, tokens = 0, 0
local owedByKey = 0
if ofAccount > 0 or ofTokens > 0 then owed, tokens = read(KEYS[1]) end
if ofKey > 0 then owedByKey = read(KEYS[3]) end
local wait, waitOfKey, waitOfTokens
owed, wait = spend(ofAccount, 1, owed)
owedByKey, waitOfKey = spend(ofKey, 1, owedByKey)
tokens, waitOfTokens = spend(ofTokens, tonumber(ARGV[4]), tokens)
local lacking = full(KEYS[2], tonumber(ARGV[5]))
local admitted = not lacking and wait + waitOfKey + waitOfTokens == 0
if admitted then
  if ofAccount > 0 or ofTokens > 0 then write(KEYS[1], owed, tokens) end
  if ofKey > 0 then write(KEYS[3], owedByKey, 0) end
  lease(KEYS[2], ARGV[6])
  keep(KEYS[2])
end
return {
  admitted and 1 or 0, lacking and 1 or 0,
  remaining(ofAccount, owed), math.ceil(owed * 1000), math.ceil(wait * 1000),
  remaining(ofKey, owedByKey), math.ceil(owedByKey * 1000), math.ceil(waitOfKey * 1000),
  remaining(ofTokens, tokens), math.ceil(tokens * 1000), math.ceil(waitOfTokens * 1000),
}
`

/**
 * KEYS: the account, its leases. ARGV: milliseconds by which the account is sooner rested of its tokens (negative: later),
 * then the leases that ended.
 */
const GIVE_BACK = `
local less = tonumber(ARGV[1])
if less ~= 0 then
  local owed, tokens = read(KEYS[1])
  write(KEYS[1], owed, tokens - less)
end
for index = 2, #ARGV do redis.call('ZREM', KEYS[2], ARGV[index]) end
return 1
`

/** KEYS: an account's leases. ARGV: those that go on. What the server lost comes back this way. */
const RENEW = `
for index = 1, #ARGV do lease(KEYS[1], ARGV[index]) end
keep(KEYS[1])
return 1
`

/** @param time Lua that says what `now` is, in microseconds. */
export function admitScript(time: string): Script {
  return scriptOf(time + COMMON + LEASES + ADMIT)
}

/** @param time Lua that says what `now` is, in microseconds. */
export function giveBackScript(time: string): Script {
  return scriptOf(time + COMMON + GIVE_BACK)
}

export const SCRIPTS = {
  admit: admitScript(SERVER_TIME),
  giveBack: giveBackScript(SERVER_TIME),
  renew: scriptOf(`${SERVER_TIME}\nlocal LEASE = ${LEASE_MS}${LEASES}${RENEW}`),
} as const

/** How a limit stands after an admission; of a refusal, how it stood. */
export interface CountedLimit {
  readonly remaining: number
  readonly resetMs: number
  /** 0 when it would allow. */
  readonly retryAfterMs: number
}

export interface AdmitAnswer {
  readonly admitted: boolean
  readonly lacksPlaces: boolean
  readonly account: CountedLimit
  readonly key: CountedLimit
  readonly tokens: CountedLimit
}

/** Undefined for what no such script answers. */
export function readAnswer(reply: unknown): AdmitAnswer | undefined {
  if (!Array.isArray(reply) || reply.length !== 11) return undefined
  const numbers: readonly unknown[] = reply
  if (!numbers.every((number) => typeof number === 'number')) return undefined
  return {
    admitted: numbers[0] === 1,
    lacksPlaces: numbers[1] === 1,
    account: countedLimit(numbers, 2),
    key: countedLimit(numbers, 5),
    tokens: countedLimit(numbers, 8),
  }
}

function countedLimit(numbers: readonly number[], first: number): CountedLimit {
  const [remaining = 0, resetUs = 0, retryAfterUs = 0] = [numbers[first], numbers[first + 1], numbers[first + 2]]
  return { remaining, resetMs: Math.max(0, resetUs) / 1000, retryAfterMs: retryAfterUs / 1000 }
}

export function accountKey(account: AccountId): string {
  return `turnpike:{${account}}`
}

export function leasesKey(account: AccountId): string {
  return `turnpike:{${account}}:leases`
}

export function keyKey(account: AccountId, key: KeyId): string {
  return `turnpike:{${account}}:${key}`
}

function scriptOf(lua: string): Script {
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}
