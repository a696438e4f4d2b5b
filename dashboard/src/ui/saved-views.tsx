/** Beside a page's actions: its views under names of one's own, and the way to save the present one. */
import { Menu } from '@base-ui/react/menu'
import { Bookmark, Check, Plus, X } from 'lucide-react'
import { type ComponentType, useState } from 'react'
import { isSameView, type SavedView, withoutView, withViewAgain } from '../lib/saved-views.ts'
import { toast } from './announcer.tsx'
import { AppLink, type AppLinkProps } from './app-link.tsx'
import { Button } from './button.tsx'
import { classNames } from './class-names.ts'
import { OPTION, POPUP } from './popup-looks.ts'
import { SaveView } from './saved-views-dialog.tsx'
import { changeSavedViews, useSavedViews, type ViewsPlace } from './saved-views-store.ts'

export interface SavedViewsProps {
  readonly accountId: string
  readonly page: ViewsPlace['page']
  /** What of an address is a view of the page. It is the same function each time. */
  readonly read: ViewsPlace['read']
  /** The address now. */
  readonly search: object
  /** The present view in words: what it is called unless somebody says otherwise. */
  readonly words: string
}

export function SavedViews({ accountId, page, read, search, words }: SavedViewsProps) {
  const [isSaving, setSaving] = useState(false)
  const place = { accountId, page, read }
  const current = read({ ...search })
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger render={<Button icon={Bookmark}>Views</Button>} />
        <Menu.Portal>
          <Menu.Positioner align="end" sideOffset={4} className="z-60">
            <Menu.Popup aria-label="Views" className={classNames(POPUP, 'w-72')}>
              <Views place={place} current={current} />
              <Menu.Item onClick={() => setSaving(true)} className={OPTION}>
                <Plus aria-hidden className="size-4 shrink-0" />
                Save this view…
              </Menu.Item>
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <SaveView open={isSaving} onClose={() => setSaving(false)} place={place} search={current} words={words} />
    </>
  )
}

interface ViewsProps {
  readonly place: ViewsPlace
  readonly current: SavedView['search']
}

function Views({ place, current }: ViewsProps) {
  const views = useSavedViews(place)
  if (views.length === 0) {
    return <p className="px-2 py-1.5 text-sm text-soft">Filters and period, under a name. None is saved yet.</p>
  }
  return (
    <>
      {views.map((view, index) => (
        <div key={view.name} role="none" className="flex items-center">
          <ViewLink view={view} to={`/${place.page}`} isCurrent={isSameView(view.search, current)} />
          <Menu.Item
            aria-label={`Remove ${view.name}`}
            label={`Remove ${view.name}`}
            onClick={() => remove(place, view, index)}
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

function remove(place: ViewsPlace, view: SavedView, index: number): void {
  changeSavedViews(place, (views) => withoutView(views, view.name))
  toast(`View removed: ${view.name}`, {
    undo: () => changeSavedViews(place, (views) => withViewAgain(views, view, index)),
  })
}
