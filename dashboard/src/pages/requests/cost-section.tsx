/** How the cost of a request came about. */
import { formatCount, formatExactUsd, formatPrice } from '../../lib/format.ts'
import { CopyableText } from '../../ui/copy.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { arithmeticOf, picoOf, picoText } from './cost.ts'
import type { Pricing, WholeCompletion } from './queries.ts'

type Line = Pricing['lines'][number]

export function CostSection({ completion }: { readonly completion: WholeCompletion }) {
  const { pricing, cost_usd: cost, unbilled_usd: unbilled, usage_source: source } = completion
  return (
    <div className="flex flex-col gap-3">
      {pricing === null ? (
        <WithoutArithmetic completion={completion} />
      ) : (
        <Lines pricing={pricing} cost={cost + unbilled} />
      )}
      {source === 'estimated' && (
        <p className="rounded-lg bg-info-soft px-3 py-2 text-sm text-ink">
          Estimated: the provider reported no token count, so Turnpike counted the tokens sent and received.
        </p>
      )}
      {source === 'bounded' && (
        <p className="rounded-lg bg-info-soft px-3 py-2 text-sm text-ink">
          Bounded: the provider reported an impossible token count. The nearest possible count is charged.
        </p>
      )}
      {unbilled > 0 && (
        <p className="rounded-lg bg-info-soft px-3 py-2 text-sm text-ink">
          {formatExactUsd(cost)} were charged: the other {formatExactUsd(unbilled)} are beyond the account’s overrun
          cap.
        </p>
      )}
    </div>
  )
}

function Lines({ pricing, cost }: { readonly pricing: Pricing; readonly cost: number }) {
  const { formula } = arithmeticOf(pricing, cost)
  return (
    <>
      <Table
        label="Cost breakdown"
        columns={COLUMNS}
        rows={pricing.lines}
        rowKey={({ kind, name = '', above_prompt_tokens: above = '' }) => `${kind} ${name} ${above}`}
        totals={{ cost: formatExactUsd(cost) }}
      />
      <CopyableText text={formula} label="Copy the calculation">
        <span className="font-mono text-sm tabular-nums">{formula}</span>
      </CopyableText>
      {pricing.rule !== 'base' && (
        <p className="text-sm text-ink">
          Rule: <span className="font-mono">{pricing.rule}</span>
        </p>
      )}
      <p className="text-sm text-soft">
        Prices are per million tokens. The sum is rounded up to the nano-dollar once, at the end.
      </p>
    </>
  )
}

const KIND_NAMES: Readonly<Record<Line['kind'], string>> = {
  input: 'Input',
  cached_input: 'Input from cache',
  cache_write: 'Input written to cache',
  cache_write_1h: 'Input written to cache for 1 hour',
  cache_write_12h: 'Input written to cache for 12 hours',
  audio_input: 'Audio input',
  cached_audio_input: 'Audio input from cache',
  output: 'Output',
  reasoning_output: 'Reasoning output',
  audio_output: 'Audio output',
  image_output: 'Image output',
  request: 'Request fee',
  image: 'Fee of images',
  server_tool: 'Fee of',
}

function kindText({ kind, name, above_prompt_tokens: above }: Line): string {
  const text = name === undefined ? KIND_NAMES[kind] : `${KIND_NAMES[kind]} ${name}`
  return above === undefined ? text : `${text}, above ${formatCount(above)} tokens`
}

function rateCell({ usd_per_million: rate, usd_per_use: fee }: Line): string {
  return fee === undefined ? formatPrice(rate) : `${formatExactUsd(fee)} each`
}

const COLUMNS: readonly Column<Line>[] = [
  { id: 'kind', header: 'Tokens of', cell: kindText },
  { id: 'tokens', header: 'Count', align: 'right', cell: ({ tokens, uses = tokens }) => formatCount(uses) },
  { id: 'price', header: 'Price per 1M', align: 'right', cell: rateCell },
  { id: 'cost', header: 'Cost', align: 'right', cell: (line) => picoText(picoOf(line)) },
]

function WithoutArithmetic({ completion }: { readonly completion: WholeCompletion }) {
  const { cost_usd: cost, status } = completion
  if (cost === 0) {
    return <p className="text-soft">Nothing was charged{status === 'failed' ? ': no output' : ''}.</p>
  }
  return (
    <p className="text-soft">
      <span className="text-ink tabular-nums">{formatExactUsd(cost)}</span> were charged. The calculation is not
      available: the price is no longer known, or the charge was corrected.
    </p>
  )
}
