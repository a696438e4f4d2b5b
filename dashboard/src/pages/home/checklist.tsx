/** The first steps, ticked by what the account really has. */
import { useQuery } from '@tanstack/react-query'
import { Check, Circle, X } from 'lucide-react'
import { useEffect } from 'react'
import { api, take } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { toast } from '../../ui/announcer.tsx'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { CardTitle } from '../../ui/page.tsx'
import { saveDone, setDismissed, useChecklistState } from './checklist-state.ts'
import { MoreLink, Panel, panelGrid } from './panel.tsx'

export function Checklist({ hasRequests }: { readonly hasRequests: boolean }) {
  const { account } = useMe()
  const { isDismissed } = useChecklistState(account.id)
  return isDismissed ? null : <Steps hasRequests={hasRequests} />
}

function Steps({ hasRequests }: { readonly hasRequests: boolean }) {
  const { account } = useMe()
  const steps = useSteps({ hasRequests })
  const done = steps.filter(({ isDone }) => isDone).length
  const dismiss = () => {
    setDismissed(account.id, true)
    document.getElementById('view')?.focus({ preventScroll: true })
    toast('Getting started dismissed', { tone: 'info', undo: () => setDismissed(account.id, false) })
  }
  if (done === steps.length) return <AllSet onDismiss={dismiss} />
  return (
    <Panel>
      <div className="flex items-center justify-between gap-4 py-2.5 pr-2 pl-4">
        <div className="flex min-w-0 flex-wrap items-baseline gap-x-3">
          <CardTitle id="getting-started">Getting started</CardTitle>
          <span className="text-sm text-soft tabular-nums">
            {done} of {steps.length} done
          </span>
        </div>
        <IconButton label="Dismiss getting started" icon={X} size="sm" onClick={dismiss} />
      </div>
      <div aria-hidden className="h-1 bg-sunken">
        <div style={{ width: `${(100 * done) / steps.length}%` }} className="h-full bg-accent" />
      </div>
      <ul aria-labelledby="getting-started" className={panelGrid(steps.length)}>
        {steps.map((step) => (
          <StepRow key={step.id} step={step} />
        ))}
      </ul>
    </Panel>
  )
}

function StepRow({ step: { title, detail, link, isDone } }: { readonly step: Step }) {
  return (
    <li className="flex gap-3 px-4 py-2.5">
      <Tick isDone={isDone} />
      <div className="min-w-0 flex-1">
        <p className={isDone ? 'text-soft' : 'font-medium text-ink'}>
          {title}
          <span className="sr-only">{isDone ? ': done' : ': to do'}</span>
        </p>
        {!isDone && <p className="text-sm text-soft">{detail}</p>}
        {!isDone && link !== undefined && <StepLink {...link} />}
      </div>
    </li>
  )
}

function StepLink({ label, ...target }: NonNullable<Step['link']>) {
  return <MoreLink {...target}>{label}</MoreLink>
}

function Tick({ isDone }: { readonly isDone: boolean }) {
  if (!isDone) return <Circle aria-hidden className="size-5 shrink-0 text-strong" />
  return (
    <span className="flex size-5 shrink-0 items-center justify-center rounded-full bg-good-soft text-good">
      <Check aria-hidden className="size-3.5" />
    </span>
  )
}

/** What is left of the list when all of it is done. */
function AllSet({ onDismiss }: { readonly onDismiss: () => void }) {
  return (
    <Panel>
      <div className="flex items-center gap-3 py-1.5 pr-2 pl-4">
        <Tick isDone />
        <div className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-3">
          <CardTitle>All set</CardTitle>
          <NextSteps />
        </div>
        <Button variant="ghost" size="sm" onClick={onDismiss}>
          Dismiss<span className="sr-only"> getting started</span>
        </Button>
      </div>
    </Panel>
  )
}

function NextSteps() {
  return (
    <p className="text-sm text-soft">
      Next: <InText to="/models">find models and prices</InText>, <InText to="/agents/new">let an agent work</InText>,
      or <InText to="/settings/members">invite others</InText>.
    </p>
  )
}

function InText({ to, children }: { readonly to: string; readonly children: string }) {
  return (
    <AppLink to={to} className="text-accent underline">
      {children}
    </AppLink>
  )
}

interface Step {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly link: (LinkTarget & { readonly label: string }) | undefined
  readonly isDone: boolean
}

const FRESH_MS = 10_000

/** Those that this person may take. What is done already, or may not be seen, is not asked for. */
function useSteps({ hasRequests }: { readonly hasRequests: boolean }): readonly Step[] {
  const { account, rights } = useMe()
  const { done } = useChecklistState(account.id)
  const asked = (id: string, right: string) => rights.has(right) && !done.includes(id)
  const keys = useKeysState(asked('key', 'keys') || asked('budget', 'keys'))
  const hasProvider = useHasProvider(asked('provider', 'operator'))
  const hasBudget = useHasBudget(asked('budget', 'billing') && keys.budget !== true)
  const hasPlayed = useHasPlayed(hasRequests && asked('playground', 'chat'))
  const hasWebhook = useHasWebhook(asked('connect', 'webhooks'))
  const hasDevice = useHasDevice(asked('connect', 'devices') && hasWebhook !== true)
  const found: Readonly<Record<StepId, boolean>> = {
    request: hasRequests,
    provider: hasProvider === true,
    key: keys.any === true,
    playground: hasPlayed === true,
    budget: keys.budget === true || hasBudget === true,
    connect: hasWebhook === true || hasDevice === true,
  }
  useEffect(() =>
    saveDone(
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

const STEP_IDS = ['request', 'provider', 'key', 'playground', 'budget', 'connect'] as const
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
    id: 'provider',
    title: 'Add a provider',
    detail: 'Paste its key; its models can be used at once.',
    link: { to: '/settings/providers', search: { add: '1' }, label: 'Add a provider' },
    right: ['operator'],
  },
  {
    id: 'key',
    title: 'Create an API key',
    detail: 'One for each service, optionally with its own budget.',
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
    detail: 'For the account or for a key. Alerts warn you before it is spent.',
    link: { to: '/billing', label: 'Set a budget' },
    right: ['billing', 'keys'],
  },
  {
    id: 'connect',
    title: 'Connect an IDE or a webhook',
    detail: 'Sign in from an editor, or receive events.',
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

/** Besides the simulator, which is built in. */
function useHasProvider(enabled: boolean): boolean | undefined {
  return useQuery({
    queryKey: ['/v1/admin/providers', 'getting started'],
    queryFn: async () => {
      const { data } = await take(api.GET('/v1/admin/providers', { params: { query: { limit: 100 } } }))
      return data.some(({ source, status }) => source !== 'built_in' && status !== 'disabled')
    },
    enabled,
    staleTime: FRESH_MS,
  }).data
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
