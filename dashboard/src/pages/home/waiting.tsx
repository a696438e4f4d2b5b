/** Before an account's first request: how to send it, and that it is being waited for. */
import { useQuery } from '@tanstack/react-query'
import { KeyRound, SquareTerminal } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { modelsQuery } from '../../api/models.ts'
import { chatSamples } from '../../lib/code-samples.ts'
import { LinkButton, Spinner } from '../../ui/button.tsx'
import { CodeTabs } from '../../ui/code.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card } from '../../ui/page.tsx'
import { rejectionsQuery, SIMULATOR } from './queries.ts'
import { rejectedText } from './rejected-text.ts'

export function Waiting({ className }: { readonly className?: string }) {
  const mayChat = useCan('chat')
  const mayMakeKeys = useCan('keys')
  const { data: models } = useQuery({ ...modelsQuery, enabled: useCan('models:read') })
  const model = models?.find(({ id }) => id === SIMULATOR) ?? models?.find(({ pricing }) => pricing !== null)
  const samples = chatSamples({
    baseUrl: `${location.origin}/v1`,
    model: model?.id ?? SIMULATOR,
    messages: [{ role: 'user', content: 'Say hello.' }],
  })
  return (
    <Card className={`min-w-0 p-6 ${className ?? ''}`}>
      <div role="status">
        <h2 className="flex items-center gap-2.5 text-lg font-semibold text-ink">
          <Spinner className="text-accent" />
          Waiting for the first request…
        </h2>
      </div>
      <p className="mt-1 max-w-prose text-soft">
        Any client of the OpenAI API works: change its base URL and key. The request appears here with its tokens and
        cost.
      </p>
      <Rejected />
      <ol className="mt-5 flex flex-col gap-5">
        <Numbered number={1} title="Get an API key">
          <p className="text-soft">
            Set it in the environment as <code className="font-mono text-sm text-ink">TURNPIKE_API_KEY</code>.
          </p>
          {mayMakeKeys && (
            <LinkButton to="/settings/keys" search={{ create: '1' }} icon={KeyRound} className="mt-2">
              Create a key
            </LinkButton>
          )}
        </Numbered>
        <Numbered number={2} title="Send a request">
          <CodeTabs
            label="Language of the example"
            tabs={[
              { id: 'curl', label: 'curl', code: samples.curl },
              { id: 'python', label: 'Python', code: samples.python },
              { id: 'typescript', label: 'TypeScript', code: samples.typescript },
            ]}
          />
          {mayChat && (
            <p className="mt-3 flex flex-wrap items-center gap-x-3 gap-y-2 text-soft">
              No terminal?
              <LinkButton to="/playground" size="sm" icon={SquareTerminal}>
                Try it in the Playground
              </LinkButton>
            </p>
          )}
        </Numbered>
      </ol>
    </Card>
  )
}

/** What did arrive, and why it is not a request that is waited for. */
function Rejected() {
  const { data } = useQuery(rejectionsQuery)
  const text = data && rejectedText(data)
  if (text === undefined) return null
  return (
    <div role="status" className="mt-4">
      <Notice
        tone="warn"
        title={text}
        action={
          <LinkButton size="sm" to="/requests" search={{ tab: 'rejected' }}>
            See why
          </LinkButton>
        }
      >
        No provider was called, and nothing was charged.
      </Notice>
    </div>
  )
}

interface NumberedProps {
  readonly number: number
  readonly title: string
  readonly children: React.ReactNode
}

function Numbered({ number, title, children }: NumberedProps) {
  return (
    <li className="flex min-w-0 gap-3">
      <span
        aria-hidden
        className="flex size-6 shrink-0 items-center justify-center rounded-full border border-line bg-sunken text-xs font-medium text-soft tabular-nums"
      >
        {number}
      </span>
      <div className="min-w-0 flex-1">
        <h3 className="mb-1 py-0.5 font-medium text-ink">{title}</h3>
        {children}
      </div>
    </li>
  )
}
