/** The guardrails that apply to a caller, compiled, from memory. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import { compileGuard, type Guard, type GuardrailsPort } from '../../domain/guardrails/guard.ts'
import type { CallHook, GuardrailRule, NamedRule } from '../../domain/guardrails/rule.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createVersionedCache } from '../../lib/collections.ts'

/** Accounts whose guardrails are in memory. */
export const MAX_CACHED_ACCOUNTS = 10_000

interface Input {
  readonly db: Kysely<Database>
  /** Calls the hook of an account's rule. */
  readonly hookOf: (accountId: AccountId) => CallHook
  readonly capacity?: number
}

interface ActiveGuardrail {
  readonly rules: readonly NamedRule[]
  /** Undefined, as the teams: for the whole account. */
  readonly keys: ReadonlySet<string> | undefined
  readonly teams: ReadonlySet<string> | undefined
}

interface Entry {
  readonly version: number
  readonly accountId: AccountId
  readonly all: readonly ActiveGuardrail[]
  /** By which of them apply. */
  readonly compiled: Map<string, Guard | undefined | Promise<Guard | undefined>>
}

export function createActiveGuardrails({ db, hookOf, capacity = MAX_CACHED_ACCOUNTS }: Input): GuardrailsPort {
  const cache = createVersionedCache<Entry>(capacity, (id) => readEntry(db, id as AccountId))
  const guardOf = (entry: Entry, caller: Caller): Guard | undefined | Promise<Guard | undefined> => {
    const { accountId, all, compiled } = entry
    const applying = all.map((each) => applies(each, caller))
    const which = applying.map(Number).join('')
    if (compiled.has(which)) return compiled.get(which)
    const rules = all.filter((_, position) => applying[position]).flatMap((each) => each.rules)
    const compiling = compileGuard(rules, hookOf(accountId))
    compiled.set(which, compiling)
    return compiling.then((guard) => {
      compiled.set(which, guard)
      return guard
    })
  }
  return {
    guardOf(caller) {
      const { accountId, guardrails: version } = caller
      if (version === undefined) return undefined
      const entry = cache.get(accountId, version)
      return entry instanceof Promise ? entry.then((found) => guardOf(found, caller)) : guardOf(entry, caller)
    },
  }
}

/** Those of a key also apply to the keys that it created. */
function applies({ keys, teams }: ActiveGuardrail, { keyId, teamId, ancestors = [] }: Caller): boolean {
  if (keys === undefined && teams === undefined) return true
  if (teamId !== undefined && teams?.has(teamId) === true) return true
  return keys !== undefined && (keys.has(keyId) || ancestors.some((above) => keys.has(above.keyId)))
}

async function readEntry(db: Kysely<Database>, accountId: AccountId): Promise<Entry> {
  const rows = await db
    .selectFrom('account')
    .leftJoin('guardrail', (join) =>
      join.onRef('guardrail.account_id', '=', 'account.id').on('guardrail.enabled', '=', 1),
    )
    .select(['account.guardrails', 'guardrail.id', 'guardrail.name', 'guardrail.rules'])
    .select(['guardrail.keys', 'guardrail.teams'])
    .where('account.id', '=', accountId)
    .orderBy('guardrail.id')
    .execute()
  const all = rows.flatMap(({ name, rules, keys, teams }): readonly ActiveGuardrail[] => {
    if (name === null || rules === null) return []
    const named = (JSON.parse(rules) as readonly GuardrailRule[]).map((rule) => ({ guardrail: name, rule }))
    return [{ rules: named, keys: setOf(keys), teams: setOf(teams) }]
  })
  return { version: rows[0]?.guardrails ?? 0, accountId, all, compiled: new Map() }
}

function setOf(list: string | null): ReadonlySet<string> | undefined {
  return list === null ? undefined : new Set(JSON.parse(list) as readonly string[])
}
