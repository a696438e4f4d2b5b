/** One provider that was called: its state, what it is busy with, and each model by itself. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleX, Hourglass, PlugZap, Settings2 } from 'lucide-react'
import { useId } from 'react'
import { problemOf } from '../../../api/problem.ts'
import { formatCount, formatUsd } from '../../../lib/format.ts'
import { processText } from '../../../lib/process-state.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Section } from '../../../ui/page.tsx'
import { HealthStatus } from '../../../ui/status.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { useNow } from '../../../ui/time-zone.ts'
import { Dash, Ms, Time, Tokens } from '../../../ui/values.tsx'
import { breakerText, failedText, isCooling, recentText, untilText } from './provider-words.ts'
import {
  type Credential,
  type Deployment,
  type Provider,
  type ProviderTestResult,
  providerTestQuery,
} from './queries.ts'

interface ProviderCardProps {
  readonly provider: Provider
  readonly onOpen: (name: string) => void
}

export function ProviderCard({ provider, onOpen }: ProviderCardProps) {
  const id = useId()
  const waits = processText(provider)
  return (
    <article aria-labelledby={id} className="overflow-hidden rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 px-4 py-3">
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <h3 id={id} className="text-base font-semibold break-words text-ink">
              {provider.name}
            </h3>
            <HealthStatus status={provider.status} />
          </div>
          <p className="mt-0.5 font-mono text-xs break-all text-soft">{provider.base_url}</p>
        </div>
        <Load provider={provider} />
      </header>
      <div className="flex flex-wrap items-start gap-2 px-4 pb-3">
        <SettingsButton provider={provider} onOpen={onOpen} />
        {provider.status !== 'disabled' && <ProviderTest name={provider.name} />}
      </div>
      {provider.problem !== null && <Problem provider={provider} reason={provider.problem} />}
      {waits !== undefined && <ProcessState text={waits} credentials={provider.credentials.filter(isCooling)} />}
      {provider.deployments.length > 0 && <DeploymentsTable provider={provider} />}
    </article>
  )
}

/** The simulator has none. */
function SettingsButton({ provider: { name, source }, onOpen }: ProviderCardProps) {
  if (source === 'built_in') return null
  return (
    <Button
      size="sm"
      icon={Settings2}
      aria-label={`Settings of ${name}`}
      title={source === 'configuration' ? 'Set in the configuration file or the environment' : undefined}
      onClick={() => onOpen(name)}
    >
      Settings
    </Button>
  )
}

function Load({ provider }: { readonly provider: Provider }) {
  const { last_failure: failure } = provider.last_24h
  const isAnswered = failure !== null && provider.problem === null
  const { in_flight: busy, max_in_flight: most, queued, credentials, cost_unbilled_usd: unbilled } = provider
  const facts = [
    ['Failed in 24 h', recentText(provider)],
    ['In flight', most === null ? formatCount(busy) : `${formatCount(busy)} of ${formatCount(most)}`],
    ['Waiting', formatCount(queued)],
    ['Credentials', formatCount(credentials.length)],
    ...(unbilled > 0 ? [['Cost of failed calls', formatUsd(unbilled)] as const] : []),
  ] as const
  return (
    <dl className="flex flex-wrap gap-x-6 gap-y-1 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="flex gap-1.5">
          <dt className="text-soft">{name}</dt>
          <dd className="font-medium text-ink">{value}</dd>
        </div>
      ))}
      {isAnswered && (
        <div className="flex gap-1.5">
          <dt className="text-soft">Last failure</dt>
          <dd className="font-medium text-ink">
            {failure.reason}, <Time iso={failure.at} relative />
          </dd>
        </div>
      )}
    </dl>
  )
}

/** The last call failed, and none was answered since. */
function Problem({ provider: { last_24h: recent }, reason }: { readonly provider: Provider; readonly reason: string }) {
  const { last_failure: failure, last_answer_at: answeredAt } = recent
  return (
    <div className="flex items-start gap-2.5 border-t border-line bg-bad-soft px-4 py-2 text-ink">
      <CircleX aria-hidden className="mt-0.5 size-4 shrink-0 text-bad" />
      <div className="min-w-0">
        <p className="font-medium">{reason}</p>
        {failure !== null && (
          <p className="text-sm break-words">
            <span className="font-mono">{failure.model}</span>, <Time iso={failure.at} relative />.{' '}
            {answeredAt === null ? (
              'No answer in the last 24 hours.'
            ) : (
              <>
                Last answer <Time iso={answeredAt} relative />.
              </>
            )}
          </p>
        )}
      </div>
    </div>
  )
}

interface ProcessStateProps {
  readonly text: string
  /** In cooldown. */
  readonly credentials: readonly Credential[]
}

/** What the process that answers waits for. Credentials by their number: what they are is shown to nobody. */
function ProcessState({ text, credentials }: ProcessStateProps) {
  const now = useNow()
  return (
    <div className="flex items-start gap-2.5 border-t border-line bg-warn-soft px-4 py-2 text-ink">
      <Hourglass aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
      <div className="min-w-0">
        <p className="font-medium">{text}</p>
        <ul className="text-sm break-words">
          {credentials.flatMap(({ number, cooling }) =>
            cooling.map(({ model, until }) => (
              <li key={`${number} ${model}`}>
                No. {number}: {model === '*' ? 'every model' : model}, used again {untilText(until, now)}
              </li>
            )),
          )}
        </ul>
      </div>
    </div>
  )
}

/** The models that were called, each with its own breaker. */
function DeploymentsTable({ provider }: { readonly provider: Provider }) {
  return (
    <Table
      label={`Models of ${provider.name}`}
      columns={COLUMNS}
      rows={provider.deployments}
      rowKey={({ model }) => model}
      className="p-3 md:rounded-none md:border-x-0 md:border-b-0 md:p-0 [&_th]:static"
    />
  )
}

const COLUMNS: readonly Column<Deployment>[] = [
  {
    id: 'model',
    header: 'Model',
    primary: true,
    cell: ({ model }) => <span className="block min-w-24 font-mono text-sm wrap-anywhere">{model}</span>,
  },
  { id: 'state', header: 'State', cell: (deployment) => <State deployment={deployment} /> },
  { id: 'failure', header: 'Last failure', cell: (deployment) => <LastFailure deployment={deployment} /> },
  { id: 'failed', header: 'Failed', align: 'right', cell: (deployment) => failedText(deployment) },
  { id: 'first', header: 'First token', align: 'right', cell: ({ first_event_ms }) => <Ms value={first_event_ms} /> },
  { id: 'whole', header: 'Answer', align: 'right', cell: ({ whole_answer_ms }) => <Ms value={whole_answer_ms} /> },
  { id: 'busy', header: 'In flight', align: 'right', cell: ({ in_flight }) => <Tokens value={in_flight} /> },
]

function State({ deployment }: { readonly deployment: Deployment }) {
  const now = useNow()
  const why = breakerText(deployment, now)
  return (
    <span className="inline-flex min-w-28 flex-wrap items-center justify-end gap-x-2 gap-y-1 md:justify-start">
      <HealthStatus status={deployment.breaker} />
      {why !== undefined && <span className="text-sm text-soft">{why}</span>}
    </span>
  )
}

function LastFailure({ deployment: { last_failure: failure } }: { readonly deployment: Deployment }) {
  if (failure === null) return <Dash />
  return (
    <span className="block min-w-28 md:max-w-96">
      <span className="block break-words">{failure.message}</span>
      <span className="text-xs text-soft">
        <Time iso={failure.at} relative />
      </span>
    </span>
  )
}

/** Sends one test call to a provider and shows its result. */
function ProviderTest({ name }: { readonly name: string }) {
  const { data: result, dataUpdatedAt, isFetching, refetch } = useQuery(providerTestQuery(name))
  const test = async () => {
    const { error } = await refetch()
    if (error !== null) toast(problemOf(error).message, { tone: 'bad' })
  }
  return (
    <div className="flex flex-wrap items-center justify-end gap-x-3 gap-y-1 md:justify-start">
      <Button
        size="sm"
        icon={PlugZap}
        aria-label={`Test ${name}`}
        title="Requests its list of models, free of charge"
        pending={isFetching}
        onClick={() => void test()}
      >
        Test
      </Button>
      <div className="flex max-w-prose min-w-0 flex-col text-left text-sm">
        <p role="status" aria-label={`Test of ${name}`} className="break-words text-ink">
          {isFetching && <span className="text-soft">Testing…</span>}
          {!isFetching && result !== undefined && <Outcome result={result} />}
        </p>
        {!isFetching && result !== undefined && (
          // (outside of what is read out when it changes: the age changes by itself)
          <p className="pl-6 text-xs text-soft">
            <Ms value={result.duration_ms} />, <Time iso={new Date(dataUpdatedAt).toISOString()} relative />
          </p>
        )}
      </div>
    </div>
  )
}

function Outcome({ result: { ok, message } }: { readonly result: ProviderTestResult }) {
  const Icon = ok ? CircleCheck : CircleX
  return (
    <span className="flex items-start gap-2">
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${ok ? 'text-good' : 'text-bad'}`} />
      <span className="min-w-0">
        <span className="sr-only">{ok ? 'Passed: ' : 'Failed: '}</span>
        {message}
      </span>
    </span>
  )
}

/** Those of which nothing is known yet, in few lines. */
interface QuietProvidersProps extends Pick<ProviderCardProps, 'onOpen'> {
  readonly providers: readonly Provider[]
}

export function QuietProviders({ providers, onOpen }: QuietProvidersProps) {
  const actions: Column<Provider> = {
    id: 'actions',
    header: 'Test and settings',
    cell: (provider) => (
      <span className="flex flex-wrap items-start justify-end gap-2 md:flex-nowrap md:justify-start">
        {provider.status !== 'disabled' && <ProviderTest name={provider.name} />}
        <SettingsButton provider={provider} onOpen={onOpen} />
      </span>
    ),
  }
  return (
    <Section title="Not called yet" description="Configured, without calls in the last 24 hours.">
      <Table
        label="Providers not called yet"
        columns={[...QUIET_COLUMNS, actions]}
        rows={providers}
        rowKey={({ id }) => id}
      />
    </Section>
  )
}

function NameAndAddress({ provider: { name, base_url: address } }: { readonly provider: Provider }) {
  return (
    <span className="block max-w-60 py-0.5 max-md:ml-auto 2xl:max-w-96">
      <span className="block font-medium break-words">{name}</span>
      <span className="block truncate font-mono text-xs font-normal text-soft" title={address}>
        {address}
      </span>
    </span>
  )
}

const QUIET_COLUMNS: readonly Column<Provider>[] = [
  { id: 'name', header: 'Provider', primary: true, cell: (provider) => <NameAndAddress provider={provider} /> },
  {
    id: 'credentials',
    header: 'Credentials',
    align: 'right',
    cell: ({ credentials }) => formatCount(credentials.length),
  },
  {
    id: 'limit',
    header: 'Limit',
    align: 'right',
    cell: ({ max_in_flight: most }) => (most === null ? 'No limit' : formatCount(most)),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ status }) => <HealthStatus status={status === 'disabled' ? status : 'unknown'} />,
  },
]
