import type { ReactNode } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { sumUsd } from '../../lib/money.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Section } from '../../ui/page.tsx'
import { AmountCell, InvoiceTable, NameCell, TextCell } from './invoice-table.tsx'
import { boundsOf } from './months.ts'
import type { Invoice } from './queries.ts'

type Line = Invoice['lines'][number]

const COUNTS = ['Requests', 'Input tokens', 'Output tokens'] as const

/** What each model cost; one press leads to the requests. */
export function InvoiceUsage({ invoice }: { readonly invoice: Invoice }) {
  const { lines, period_start: start } = invoice
  if (lines.length === 0) {
    return (
      <Section title="Usage">
        <p className="text-soft">No usage was charged.</p>
      </Section>
    )
  }
  return (
    <Section title="Usage">
      <InvoiceTable
        label="Usage"
        columns={['Model', ...COUNTS, 'USD']}
        roomy={COUNTS}
        total={<Cells line={totalOf(lines)} name="All models" />}
      >
        {lines.map((line) => (
          <tr key={line.model}>
            <Cells line={line} name={<ModelLink model={line.model} month={start.slice(0, 7)} />} />
          </tr>
        ))}
      </InvoiceTable>
    </Section>
  )
}

function Cells({ line, name }: { readonly line: Line; readonly name: ReactNode }) {
  const { requests, prompt_tokens: input, completion_tokens: output } = line
  const counts = `${plural(requests, 'request')}, ${formatCount(input)} + ${formatCount(output)} tokens`
  return (
    <>
      <NameCell note={<span className="sm:hidden print:hidden">{counts}</span>}>{name}</NameCell>
      <TextCell roomy>{formatCount(requests)}</TextCell>
      <TextCell roomy>{formatCount(input)}</TextCell>
      <TextCell roomy>{formatCount(output)}</TextCell>
      <AmountCell value={line.cost_usd} />
    </>
  )
}

function ModelLink({ model, month }: { readonly model: string; readonly month: string }) {
  const { start, lastDay } = boundsOf(month)
  return (
    <AppLink
      to="/requests"
      search={{ range: 'custom', from: start, to: lastDay, model }}
      className="font-mono text-sm break-all text-accent underline-offset-2 hover:underline"
    >
      {model}
    </AppLink>
  )
}

function totalOf(lines: readonly Line[]): Line {
  const sum = (of: (line: Line) => number) => lines.reduce((total, line) => total + of(line), 0)
  return {
    model: '',
    requests: sum(({ requests }) => requests),
    prompt_tokens: sum(({ prompt_tokens }) => prompt_tokens),
    completion_tokens: sum(({ completion_tokens }) => completion_tokens),
    cost_usd: sumUsd(lines.map(({ cost_usd }) => cost_usd)),
  }
}
