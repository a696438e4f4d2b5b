import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Braces, Eraser, History, Link2 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useMe } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import { toast } from '../../ui/announcer.tsx'
import { Button } from '../../ui/button.tsx'
import { copyText } from '../../ui/copy-text.ts'
import { Page } from '../../ui/page.tsx'
import { type CallableModel, defaultModels, modelOption } from './callable.ts'
import { Columns } from './columns.tsx'
import { Composer } from './composer.tsx'
import { Examples } from './examples.tsx'
import { focusMessage } from './message-focus.ts'
import { readModels, type SheetName, shareAddress } from './search.ts'
import { Sheets } from './sheets.tsx'
import { draftMessage, saidBy, useDraft, withPrompt } from './use-draft.ts'
import { useHistory } from './use-history.ts'
import { usePlayground } from './use-playground.ts'

export const TITLE = 'Playground'
export const NOTE = 'Requests are real and billed to this account.'

const route = getRouteApi('/playground')

export function Playground({ models }: { readonly models: readonly CallableModel[] }) {
  const search = route.useSearch()
  const navigate = useNavigate({ from: '/playground' })
  const history = useHistory(useMe().user.id)
  const [usual] = useState(() => defaultModels(models, history.entries[0]?.models ?? []))
  const chosen = search.models === undefined ? usual : readModels(search)
  const byId = useMemo(() => new Map(models.map((model) => [model.id, model])), [models])
  const options = useMemo(() => models.map(modelOption), [models])
  const [draft, setDraft] = useDraft(search)
  const playground = usePlayground({ models: byId, chosen, draft })
  const { columns, isEmpty } = playground

  const choose = (next: readonly string[]) =>
    void navigate({ search: (before) => ({ ...before, models: next.join(',') }), replace: true })
  const open = (sheet: SheetName, column?: number) =>
    void navigate({ search: (before) => present({ ...before, sheet, tab: undefined, column: column?.toString() }) })
  const send = () => {
    history.add({ models: chosen.filter((id) => byId.has(id)), draft })
    playground.send()
    setDraft((now) => ({ ...now, messages: [draftMessage()], images: [] }))
  }
  const share = () => {
    const said = columns[0]?.items.find((item) => item.kind === 'message' && item.role === 'user')
    const prompt = said?.kind === 'message' ? said.text : (saidBy(draft).at(-1)?.text ?? '')
    void copyLink(shareAddress(location.origin + location.pathname, { models: chosen, system: draft.system, prompt }))
  }
  const clear = () => {
    toast('The conversation is cleared.', { undo: playground.clear() })
    focusMessage()
  }

  return (
    <Page
      title={TITLE}
      description={NOTE}
      wide
      actions={
        <>
          <Button icon={Eraser} variant="ghost" disabled={isEmpty} onClick={clear}>
            Clear conversation
          </Button>
          <Button icon={History} variant="ghost" onClick={() => open('history')}>
            History
          </Button>
          <Button icon={Link2} onClick={share}>
            Copy link
          </Button>
          <Button icon={Braces} onClick={() => open('code')}>
            Get code
          </Button>
        </>
      }
    >
      <div className="flex min-w-0 flex-col gap-4">
        <Columns
          playground={playground}
          models={byId}
          options={options}
          onChoose={choose}
          onShowRaw={(number) => open('raw', number)}
        />
        {isEmpty && <Examples onPick={(text) => setDraft((now) => withPrompt(now, text))} />}
        <Composer
          draft={draft}
          setDraft={setDraft}
          chosen={chosen.map((id) => byId.get(id)).filter((model) => model !== undefined)}
          isRunning={playground.isRunning}
          onSend={send}
          onStop={playground.stopAll}
          onSettings={() => open('settings')}
        />
      </div>
      <Sheets models={byId} columns={columns} draft={draft} setDraft={setDraft} history={history} />
    </Page>
  )
}

async function copyLink(address: string | undefined): Promise<void> {
  if (address === undefined) return toast('The system text and the prompt are too long for a link.', { tone: 'bad' })
  try {
    await copyText(address)
    toast('The link is copied. It has the models, the system text and the first prompt.')
  } catch {
    toast('The browser did not let this page copy.', { tone: 'bad' })
  }
}
