import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { present } from '../../lib/address.ts'
import { Button } from '../../ui/button.tsx'
import { Sheet } from '../../ui/dialog.tsx'
import type { CallableModel } from './callable.ts'
import { CodeSheet } from './code-sheet.tsx'
import type { Column } from './conversation.ts'
import type { HistoryEntry } from './history.ts'
import { HistorySheet } from './history-sheet.tsx'
import { RawSheet } from './raw-sheet.tsx'
import type { SheetName } from './search.ts'
import { NOTHING_SET } from './settings.ts'
import { SettingsForm } from './settings-sheet.tsx'
import { type Draft, draftOf, type SetDraft } from './use-draft.ts'
import type { RunHistory } from './use-history.ts'

export interface SheetsProps {
  readonly models: ReadonlyMap<string, CallableModel>
  readonly columns: readonly Column[]
  readonly draft: Draft
  readonly setDraft: SetDraft
  readonly history: RunHistory
}

export interface SheetPlace {
  /** Counts from 1. */
  readonly number: number
  readonly onNumber: (number: number) => void
  readonly tab: string | undefined
  readonly onTab: (tab: string) => void
}

const route = getRouteApi('/playground')

/** What the address says is open beside the view. */
export function Sheets({ models, columns, draft, setDraft, history }: SheetsProps) {
  const { sheet, column, tab } = route.useSearch()
  const navigate = useNavigate({ from: '/playground' })
  const close = () =>
    void navigate({
      search: (before) => present({ ...before, sheet: undefined, column: undefined, tab: undefined }),
      replace: true,
    })
  const place: SheetPlace = {
    number: Math.min(Math.max(1, Number(column) || 1), columns.length),
    onNumber: (number) => void navigate({ search: (before) => ({ ...before, column: String(number) }), replace: true }),
    tab,
    onTab: (next) => void navigate({ search: (before) => ({ ...before, tab: next }), replace: true }),
  }
  const frame = (name: SheetName) => ({
    open: sheet === name,
    onOpenChange: (isOpen: boolean) => isOpen || close(),
  })
  const useAgain = ({ models: ids, ...run }: HistoryEntry) => {
    setDraft(draftOf(run))
    void navigate({ search: ids.length === 0 ? {} : { models: ids.join(',') }, replace: true })
  }
  const setSettings = (settings: Draft['settings']) => setDraft((now) => ({ ...now, settings }))
  return (
    <>
      <Sheet
        {...frame('settings')}
        title="Settings"
        description="For all models of the view, from the next run on."
        footer={
          <>
            <Button variant="ghost" onClick={() => setSettings(NOTHING_SET)}>
              Reset
            </Button>
            <Button variant="primary" onClick={close}>
              Done
            </Button>
          </>
        }
      >
        <SettingsForm
          settings={draft.settings}
          onChange={(change) => setDraft((now) => ({ ...now, settings: { ...now.settings, ...change } }))}
          models={columns.map(({ model }) => models.get(model)).filter((model) => model !== undefined)}
        />
      </Sheet>
      <Sheet {...frame('code')} title="Code" description="The next request, as a program." size="lg">
        <CodeSheet models={models} columns={columns} draft={draft} place={place} />
      </Sheet>
      <Sheet {...frame('raw')} title="Request and response" description="Of the last run, as they went." size="lg">
        <RawSheet columns={columns} place={place} />
      </Sheet>
      <Sheet
        {...frame('history')}
        title="History"
        description="The last 20 runs, in this browser alone; without images."
      >
        <HistorySheet history={history} onUse={useAgain} />
      </Sheet>
    </>
  )
}
