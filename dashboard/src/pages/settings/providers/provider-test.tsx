/** One call to a provider on request, and what came of it. */
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleX, PlugZap } from 'lucide-react'
import { problemOf } from '../../../api/problem.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Ms, Time } from '../../../ui/values.tsx'
import { type ProviderTestResult, providerTestQuery } from './queries.ts'

export function ProviderTest({ name }: { readonly name: string }) {
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
        title="One call for its list of models, which costs nothing"
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
