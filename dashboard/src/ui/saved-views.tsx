/** Beside a page's actions: its views under names of one's own, and the way to save the present one. */
import { Menu } from '@base-ui/react/menu'
import { Bookmark, Check, Plus, X } from 'lucide-react'
import { type ComponentType, useState, useSyncExternalStore } from 'react'
import {
  isSameView,
  MAX_NAME_LENGTH,
  MAX_VIEWS,
  type PageViews,
  readViewName,
  type SavedView,
  type ViewSearch,
  withoutView,
  withRestoredView,
  withView,
} from '../lib/saved-views.ts'
import { toast } from './announcer.tsx'
import { AppLink, type AppLinkProps } from './app-link.tsx'
import { Button } from './button.tsx'
import { classNames, OPTION, POPUP } from './class-names.ts'
import { Dialog } from './dialog.tsx'
import { TextField } from './form/field.tsx'
import { Form } from './form/form.tsx'

export interface SavedViewsProps {
  readonly accountId: string
  readonly views: PageViews
  /** The address now. */
  readonly search: object
  /** The present view in words: what it is called unless somebody says otherwise. */
  readonly words: string
}

/** The saved views of an account on a page. */
interface AccountViews extends Pick<PageViews, 'page' | 'store'> {
  readonly id: string
}

function useSavedViews({ store, id }: AccountViews): readonly SavedView[] {
  return useSyncExternalStore(store.subscribe, () => store.read(id))
}

/** @param change Of the views as they are now: another tab may have changed them. */
function changeSavedViews(
  { store, id }: AccountViews,
  change: (views: readonly SavedView[]) => readonly SavedView[],
): void {
  store.write(change(store.read(id)), id)
}

export function SavedViews({ accountId, views: { page, read, store }, search, words }: SavedViewsProps) {
  const [isSaving, setSaving] = useState(false)
  const account: AccountViews = { page, store, id: `${accountId}.${page}` }
  const current = read({ ...search })
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger render={<Button icon={Bookmark}>Views</Button>} />
        <Menu.Portal>
          <Menu.Positioner align="end" sideOffset={4} className="z-60">
            <Menu.Popup aria-label="Views" className={classNames(POPUP, 'w-72')}>
              <Views account={account} current={current} />
              <Menu.Item onClick={() => setSaving(true)} className={OPTION}>
                <Plus aria-hidden className="size-4 shrink-0" />
                Save this view…
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <SaveView open={isSaving} onClose={() => setSaving(false)} account={account} search={current} words={words} />
    </>
  )
}

interface ViewsProps {
  readonly account: AccountViews
  readonly current: SavedView['search']
}

function Views({ account, current }: ViewsProps) {
  const views = useSavedViews(account)
  if (views.length === 0) {
    return <p className="px-2 py-1.5 text-sm text-soft">Save filters and period under a name. No saved views yet.</p>
  }
  return (
    <>
      {views.map((view, index) => (
        <div key={view.name} role="none" className="flex items-center">
          <ViewLink view={view} to={`/${account.page}`} isCurrent={isSameView(view.search, current)} />
          <Menu.Item
            aria-label={`Remove ${view.name}`}
            label={`Remove ${view.name}`}
            onClick={() => remove(account, view, index)}
            className="flex size-8 shrink-0 items-center justify-center rounded-lg text-soft outline-none data-highlighted:bg-hover data-highlighted:text-ink"
          >
            <X aria-hidden className="size-4" />
          </Menu.Item>
        </div>
      ))}
      <Menu.Separator className="my-1 border-t border-line" />
    </>
  )
}

/** Without `exact`, the router would call each view the current one whose filters the address has among others. */
const ExactLink: ComponentType<AppLinkProps & { readonly activeOptions: { readonly exact: true } }> = AppLink

interface ViewLinkProps {
  readonly view: SavedView
  readonly to: string
  readonly isCurrent: boolean
}

function ViewLink({ view: { name, search }, to, isCurrent }: ViewLinkProps) {
  return (
    <Menu.LinkItem
      label={name}
      closeOnClick
      aria-current={isCurrent ? 'page' : undefined}
      render={<ExactLink to={to} search={search} activeOptions={{ exact: true }} />}
      className={classNames(OPTION, 'min-w-0 flex-1')}
    >
      <span className="flex size-4 shrink-0">{isCurrent && <Check aria-hidden className="size-4" />}</span>
      <span className="min-w-0 break-words">{name}</span>
    </Menu.LinkItem>
  )
}

function remove(account: AccountViews, view: SavedView, index: number): void {
  changeSavedViews(account, (views) => withoutView(views, view.name))
  toast(`View removed: ${view.name}`, {
    undo: () => changeSavedViews(account, (views) => withRestoredView(views, view, index)),
  })
}

interface SaveViewProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly account: AccountViews
  readonly search: ViewSearch
  readonly words: string
}

function SaveView({ open, onClose, ...rest }: SaveViewProps) {
  return (
    <Dialog
      size="sm"
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Save this view"
      description="Saves filters and period in this browser. A relative period, such as the last 24 hours, stays relative."
    >
      <NameForm {...rest} onClose={onClose} />
    </Dialog>
  )
}

const FULL = `At most ${MAX_VIEWS} views can be saved. Remove one first.`

/** Within the dialog, so that each opening resets its state. */
function NameForm({ account, search, words, onClose }: Omit<SaveViewProps, 'open'>) {
  const views = useSavedViews(account)
  const [text, setText] = useState(() => readViewName(words) ?? '')
  const name = readViewName(text)
  const isThere = views.some((view) => view.name === name)
  const isFull = views.length >= MAX_VIEWS && !isThere
  const missing = name === undefined ? 'Enter a name.' : isFull ? 'Remove a view, or replace one.' : undefined
  const save = async () => {
    if (name === undefined) return
    changeSavedViews(account, (there) => withView(there, { name, search }))
    toast(isThere ? `View replaced: ${name}` : `View saved: ${name}`)
    onClose()
  }
  return (
    <Form onSubmit={save} submitLabel={isThere ? 'Replace view' : 'Save view'} onCancel={onClose} missing={missing}>
      <div>
        <TextField
          label="Name"
          value={text}
          onChange={setText}
          maxLength={MAX_NAME_LENGTH}
          autoComplete="off"
          required
          error={isFull ? FULL : undefined}
        />
        <p role="status" className="text-sm text-soft not-empty:mt-2">
          {isThere && 'A view with this name exists. Saving replaces it.'}
        </p>
      </div>
    </Form>
  )
}
