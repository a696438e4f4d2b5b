/** The prompt and answer of a request, where they are stored. Each view is in the audit log, so it is asked for by hand. */
import { skipToken, useQuery } from '@tanstack/react-query'
import { SquareTerminal } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import type { paths } from '../../api/schema.d.ts'
import { answersOf, type ChatMessage, speakerOf, textOfExchange, textOfMessage } from '../../lib/chat-text.ts'
import { lineDiff } from '../../lib/line-diff.ts'
import { visibleText } from '../../lib/visible-text.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button, LinkButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { Failed, SkeletonRows } from '../../ui/states.tsx'
import { DiffLines } from '../../ui/table/diff-lines.tsx'

const CONTENT = '/v1/usage/completions/{id}/content'
type RequestContent = paths[typeof CONTENT]['get']['responses']['200']['content']['application/json']

interface ContentSectionProps {
  readonly id: string
  readonly model: string
}

export function ContentSection(props: ContentSectionProps) {
  const [isShown, setShown] = useState(false)
  if (!useCan('content')) return null
  return (
    <section>
      <h3 className="mb-2 font-medium text-ink">Content</h3>
      {isShown ? (
        <Stored {...props} onGone={() => setShown(false)} />
      ) : (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Button size="sm" onClick={() => setShown(true)}>
            Show prompt and answer
          </Button>
          <p className="text-sm text-soft">Each view is recorded in the audit log.</p>
        </div>
      )}
    </section>
  )
}

/** Read once for each time that it is shown. @param id Undefined: nothing is read. */
function useContent(id: string | undefined) {
  const read = async (of: string) => await take(api.GET(CONTENT, { params: { path: { id: of } } }))
  return useQuery({
    queryKey: [CONTENT, id],
    queryFn: id === undefined ? skipToken : () => read(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  })
}

function Stored({ id, model, onGone }: ContentSectionProps & { readonly onGone: () => void }) {
  const { data, error, refetch } = useContent(id)
  if (data === undefined) {
    if (error === null) return <SkeletonRows rows={3} />
    if (problemOf(error).status === 404) return <p className="text-soft">{problemOf(error).message}</p>
    return <Failed error={error} what="the content" onRetry={() => void refetch()} className="py-4" />
  }
  return (
    <div className="flex flex-col gap-4">
      <ol className="flex flex-col gap-3">
        {[...data.messages, ...answersOf(data)].map((message, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages do not move
          <Message key={at} message={message} isAnswer={at >= data.messages.length} />
        ))}
      </ol>
      {data.response === null && <p className="text-sm text-soft">There was no answer.</p>}
      <ContentActions id={id} model={model} onGone={onGone} />
      <Comparison content={data} />
    </div>
  )
}

function Message({ message, isAnswer }: { readonly message: ChatMessage; readonly isAnswer: boolean }) {
  return (
    <li className="rounded-lg border border-line px-3 py-2">
      <p className="text-xs font-medium text-soft">{isAnswer ? 'Answer' : speakerOf(message)}</p>
      <bdi className="block break-words whitespace-pre-wrap text-ink">{visibleText(textOfMessage(message))}</bdi>
    </li>
  )
}

function ContentActions({ id, model, onGone }: ContentSectionProps & { readonly onGone: () => void }) {
  const [isDeleting, setDeleting] = useState(false)
  const canChat = useCan('chat')
  return (
    <div className="flex flex-wrap gap-2">
      {canChat && (
        <LinkButton size="sm" icon={SquareTerminal} to="/playground" search={{ models: model, request: id }}>
          Replay in Playground
        </LinkButton>
      )}
      <Button size="sm" onClick={() => setDeleting(true)}>
        Delete content
      </Button>
      <ConfirmDialog
        open={isDeleting}
        onOpenChange={setDeleting}
        title="Delete prompt and answer?"
        confirmLabel="Delete content"
        danger
        onConfirm={async () => {
          await take(api.DELETE(CONTENT, { params: { path: { id } } }))
          toast('Prompt and answer deleted')
          onGone()
        }}
      >
        <p>The request stays on the list, with its cost.</p>
      </ConfirmDialog>
    </div>
  )
}

/** With the content of another request. */
function Comparison({ content }: { readonly content: RequestContent }) {
  const [typed, setTyped] = useState('')
  const [other, setOther] = useState<string>()
  const { data, error } = useContent(other)
  const compare = (event: FormEvent) => {
    event.preventDefault()
    setOther(typed.trim() === '' ? undefined : typed.trim())
  }
  return (
    <div className="flex flex-col gap-3">
      <form onSubmit={compare} className="flex flex-wrap items-end gap-2">
        <TextField
          label="Compare with"
          value={typed}
          onChange={setTyped}
          placeholder="Completion ID"
          mono
          className="min-w-60 flex-1"
        />
        <Button type="submit">Compare</Button>
      </form>
      {error !== null && other !== undefined && (
        <p role="alert" className="text-bad">
          {problemOf(error).message}
        </p>
      )}
      {data !== undefined && (
        <div className="overflow-hidden rounded-lg border border-line">
          <DiffLines lines={lineDiff(textOfExchange(data), textOfExchange(content))} />
        </div>
      )}
    </div>
  )
}
