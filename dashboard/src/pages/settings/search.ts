/** What of the view is in its address. */
import { present, readChoice, readText } from '../../lib/address.ts'
import { type PeriodSearch, readPeriodSearch } from '../../lib/period.ts'

export const KEY_TABS = ['active', 'disabled', 'expired', 'revoked', 'all'] as const
export type KeyTab = (typeof KEY_TABS)[number]

export interface KeysSearch {
  readonly status?: KeyTab
  /** The key whose sheet is open. */
  readonly key?: string
  /** Whether a key is being made. */
  readonly create?: '1'
  /** The team that it is made for. */
  readonly team?: string
}

export function readKeysSearch(raw: Record<string, unknown>): KeysSearch {
  return present({
    status: readChoice(raw, 'status', KEY_TABS),
    key: readText(raw, 'key'),
    create: readChoice(raw, 'create', ['1']),
    team: readText(raw, 'team'),
  })
}

export interface ProvidersSearch {
  /** Whether a provider is being added. */
  readonly add?: '1'
  /** The provider whose sheet is open. */
  readonly provider?: string
}

export function readProvidersSearch(raw: Record<string, unknown>): ProvidersSearch {
  return present({ add: readChoice(raw, 'add', ['1']), provider: readText(raw, 'provider') })
}

export const TEAM_TABS = ['active', 'archived'] as const
export type TeamTab = (typeof TEAM_TABS)[number]

export interface TeamsSearch {
  readonly status?: TeamTab
  /** Whether a team is being made. */
  readonly create?: '1'
}

export function readTeamsSearch(raw: Record<string, unknown>): TeamsSearch {
  return present({ status: readChoice(raw, 'status', TEAM_TABS), create: readChoice(raw, 'create', ['1']) })
}

export const TEAM_FORMS = ['settings', 'member', 'budget'] as const

export interface TeamSearch {
  /** What is being changed or added. */
  readonly edit?: (typeof TEAM_FORMS)[number]
  /** The budget whose sheet is open. */
  readonly budget?: string
}

export function readTeamSearch(raw: Record<string, unknown>): TeamSearch {
  return present({ edit: readChoice(raw, 'edit', TEAM_FORMS), budget: readText(raw, 'budget') })
}

export const BUDGET_TABS = ['account', 'team', 'member', 'key', 'tag'] as const
export type BudgetTab = (typeof BUDGET_TABS)[number]

export interface BudgetsSearch {
  readonly level?: BudgetTab
  /** The budget whose sheet is open. */
  readonly budget?: string
  /** Whether a budget is being made. */
  readonly create?: '1'
}

export function readBudgetsSearch(raw: Record<string, unknown>): BudgetsSearch {
  return present({
    level: readChoice(raw, 'level', BUDGET_TABS),
    budget: readText(raw, 'budget'),
    create: readChoice(raw, 'create', ['1']),
  })
}

export interface AuditSearch extends PeriodSearch {
  readonly action?: string
  /** The id of a person, a key or a device. */
  readonly actor?: string
  /** The entry whose sheet is open, and when it was made, by which it is found again. */
  readonly entry?: string
  readonly at?: string
}

export function readAuditSearch(raw: Record<string, unknown>): AuditSearch {
  const others = {
    action: readText(raw, 'action'),
    actor: readText(raw, 'actor'),
    entry: readText(raw, 'entry'),
    at: readText(raw, 'at'),
  }
  return { ...readPeriodSearch(raw), ...present(others) }
}

export interface MembersSearch {
  /** Whether somebody is being invited. */
  readonly invite?: '1'
}

export function readMembersSearch(raw: Record<string, unknown>): MembersSearch {
  return present({ invite: readChoice(raw, 'invite', ['1']) })
}

export interface DevicesSearch {
  /** `all`: everybody's, for those who may see them. */
  readonly whose?: 'all'
  /** `all`: those as well that are connected no longer. */
  readonly state?: 'all'
}

export function readDevicesSearch(raw: Record<string, unknown>): DevicesSearch {
  return present({ whose: readChoice(raw, 'whose', ['all']), state: readChoice(raw, 'state', ['all']) })
}

export interface ListSearch {
  readonly selected?: string
  readonly tab?: string
  readonly q?: string
}

export function readListSearch(raw: Record<string, unknown>): ListSearch {
  return present({ selected: readText(raw, 'selected'), tab: readText(raw, 'tab'), q: readText(raw, 'q') })
}

export interface AccountsSearch {
  /** The account whose sheet is open. */
  readonly selected?: string
  readonly tab?: string
  /** Part of a name, or a whole id. */
  readonly search?: string
}

/** As long as the gateway takes it. */
const LONGEST_SEARCH = 100

export function readAccountsSearch(raw: Record<string, unknown>): AccountsSearch {
  const search = Array.from(readText(raw, 'search') ?? '')
    .slice(0, LONGEST_SEARCH)
    .join('')
    .trim()
  return present({
    selected: readText(raw, 'selected'),
    tab: readText(raw, 'tab'),
    search: search === '' ? undefined : search,
  })
}
