/** The steps of the checklist, and which of them are done by what the account has. */
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api, take } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import type { LinkTarget } from '../../ui/app-link.tsx'
import { rememberDone, useRemembered } from './remembered.ts'

export interface Step {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly link: (LinkTarget & { readonly label: string }) | undefined
  readonly isDone: boolean
}

const FRESH_MS = 10_000

/** Those that this person may take. What is done already, or may not be seen, is not asked for. */
export function useSteps({ hasRequests }: { readonly hasRequests: boolean }): readonly Step[] {
  const { account, rights } = useMe()
  const { done } = useRemembered(account.id)
  const asked = (id: string, right: string) => rights.has(right) && !done.includes(id)
  const keys = useKeysState(asked('key', 'keys') || asked('budget', 'keys'))
  const hasBudget = useHasBudget(asked('budget', 'billing') && keys.budget !== true)
  const hasPlayed = useHasPlayed(hasRequests && asked('playground', 'chat'))
  const hasWebhook = useHasWebhook(asked('connect', 'webhooks'))
  const hasDevice = useHasDevice(asked('connect', 'devices') && hasWebhook !== true)
  const found: Readonly<Record<StepId, boolean>> = {
    request: hasRequests,
    key: keys.any === true,
    playground: hasPlayed === true,
    budget: keys.budget === true || hasBudget === true,
    connect: hasWebhook === true || hasDevice === true,
  }
  useEffect(() =>
    rememberDone(
      account.id,
      STEP_IDS.filter((id) => found[id]),
    ),
  )
  return STEPS.filter(({ right }) => right.some((each) => rights.has(each))).map((step) => ({
    ...step,
    link: linkFor(step.id, rights) ?? step.link,
    isDone: found[step.id] || done.includes(step.id),
  }))
}

const STEP_IDS = ['request', 'key', 'playground', 'budget', 'connect'] as const
type StepId = (typeof STEP_IDS)[number]

interface StepTemplate extends Omit<Step, 'id' | 'isDone'> {
  readonly id: StepId
  /** One of these is needed. */
  readonly right: readonly string[]
}

const STEPS: readonly StepTemplate[] = [
  {
    id: 'request',
    title: 'Send the first request',
    detail: 'From a terminal, a script, or the Playground.',
    link: undefined,
    right: ['usage:read'],
  },
  {
    id: 'key',
    title: 'Create an API key',
    detail: 'One for each service, with a budget of its own if you like.',
    link: { to: '/settings/keys', search: { create: '1' }, label: 'Create a key' },
    right: ['keys'],
  },
  {
    id: 'playground',
    title: 'Compare models in the Playground',
    detail: 'The same prompt side by side, with speed and cost.',
    link: { to: '/playground', label: 'Open the Playground' },
    right: ['chat'],
  },
  {
    id: 'budget',
    title: 'Set a monthly budget',
    detail: 'For the account or for a key. Alerts come before it is spent.',
    link: { to: '/billing', label: 'Set a budget' },
    right: ['billing', 'keys'],
  },
  {
    id: 'connect',
    title: 'Connect an IDE or a webhook',
    detail: 'Sign in from an editor, or be told of what happens.',
    link: { to: '/settings/devices', label: 'Connect a device' },
    right: ['devices', 'webhooks'],
  },
]

/** Where somebody without the step's usual right goes instead. */
function linkFor(id: StepId, rights: ReadonlySet<string>): Step['link'] {
  if (id === 'request' && rights.has('chat')) return { to: '/playground', label: 'Send one from here' }
  if (id === 'budget' && !rights.has('billing')) return { to: '/settings/keys', label: 'Set the budget of a key' }
  if (id === 'connect' && rights.has('webhooks')) return { to: '/webhooks', label: 'Add a webhook' }
  return undefined
}

function useKeysState(enabled: boolean): { readonly any: boolean | undefined; readonly budget: boolean | undefined } {
  const { data } = useQuery({
    queryKey: ['/v1/keys', 'getting started'],
    queryFn: async () => (await take(api.GET('/v1/keys', { params: { query: { limit: 100 } } }))).data,
    enabled,
    staleTime: FRESH_MS,
  })
  return { any: data && data.length > 0, budget: data?.some(({ monthly_budget_usd: budget }) => budget !== null) }
}

function useHasBudget(enabled: boolean): boolean | undefined {
  return useQuery({
    queryKey: ['/v1/account', 'getting started'],
    queryFn: async () => (await take(api.GET('/v1/account'))).monthly_budget_usd !== null,
    enabled,
    staleTime: FRESH_MS,
  }).data
}

/** What is asked in the Playground is asked by a person, not with a key. */
function useHasPlayed(enabled: boolean): boolean | undefined {
  const { user } = useMe()
  return useQuery({
    queryKey: ['/v1/usage/completions', 'getting started', user.id],
    queryFn: async () => {
      const query = { key_id: user.id, limit: 1 }
      return (await take(api.GET('/v1/usage/completions', { params: { query } }))).data.length > 0
    },
    enabled,
    staleTime: FRESH_MS,
  }).data
}

function useHasWebhook(enabled: boolean): boolean | undefined {
  return useQuery({
    queryKey: ['/v1/webhooks', 'getting started'],
    queryFn: async () => (await take(api.GET('/v1/webhooks', { params: { query: { limit: 1 } } }))).data.length > 0,
    enabled,
    staleTime: FRESH_MS,
  }).data
}

function useHasDevice(enabled: boolean): boolean | undefined {
  return useQuery({
    queryKey: ['/v1/devices', 'getting started'],
    queryFn: async () => (await take(api.GET('/v1/devices', { params: { query: { limit: 1 } } }))).data.length > 0,
    enabled,
    staleTime: FRESH_MS,
  }).data
}
