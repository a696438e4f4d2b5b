/** Ctrl K: every view, every model and what is done often, by a few letters. */
import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Bot, Boxes, KeyRound, LogOut, type LucideIcon, Moon, Search, Webhook } from 'lucide-react'
import { useState } from 'react'
import { type Me, useMe } from '../api/me.ts'
import { modelsQuery } from '../api/models.ts'
import { signOut } from '../api/session.ts'
import { toggleTheme } from '../lib/theme.ts'
import { MAIN, OPERATOR, reachable, SETTINGS } from './navigation.ts'
import { useFindId } from './use-find-id.ts'

interface PaletteProps {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}

interface Entry {
  readonly label: string
  readonly hint: string
  readonly icon: LucideIcon
  readonly run: () => void
}

export function Palette({ open, onOpenChange }: PaletteProps) {
  const [text, setText] = useState('')
  const entries = [...useEntries(open), ...useIdEntry(text.trim())]
  const choose = (entry: Entry): void => {
    onOpenChange(false)
    entry.run()
  }
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="palette-popup" aria-label="Search or jump to">
          <Autocomplete.Root
            items={entries}
            itemToStringValue={({ label }: Entry) => label}
            open
            inline
            autoHighlight="always"
            keepHighlight
            onValueChange={setText}
          >
            <Autocomplete.Input
              className="w-full border-b border-line bg-transparent px-4 py-3 text-base outline-none"
              aria-label="Search or jump to"
              placeholder="Search views, models, actions and IDs"
            />
            <Autocomplete.Empty className="empty:hidden px-4 py-8 text-center text-sm text-soft">
              No matches.
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-80 overflow-y-auto p-2">
              {(entry: Entry) => (
                <Autocomplete.Item
                  key={`${entry.hint} ${entry.label}`}
                  value={entry}
                  className="menu-item"
                  onClick={() => choose(entry)}
                >
                  <entry.icon aria-hidden="true" className="size-4 shrink-0 text-soft" />
                  <span className="min-w-0 flex-1 truncate">{entry.label}</span>
                  <span className="text-xs text-soft">{entry.hint}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function useEntries(isOpen: boolean): Entry[] {
  const me = useMe()
  const navigate = useNavigate()
  const models = useQuery({ ...modelsQuery, enabled: isOpen && me.rights.has('models:read') })
  const go = (to: string) => () => void navigate({ to })
  const views = [...reachable(MAIN, me.rights), ...reachable(SETTINGS, me.rights), ...reachable(OPERATOR, me.rights)]
  return [
    ...views.map(({ label, icon, to }) => ({ label, icon, hint: 'View', run: go(to) })),
    ...actionsOf(me, go),
    ...(models.data ?? []).map(({ id }) => ({ label: id, icon: Boxes, hint: 'Model', run: go(`/models/${id}`) })),
  ]
}

/** Text that may be the ID of anything. */
const ID = /^[^\s]{6,}$/

function useIdEntry(text: string): Entry[] {
  const find = useFindId()
  const { rights } = useMe()
  if (!ID.test(text) || !rights.has('usage:read')) return []
  return [{ label: `Find ${text}`, icon: Search, hint: 'ID', run: () => void find(text) }]
}

function actionsOf({ rights }: Me, go: (to: string) => () => void): Entry[] {
  const hint = 'Action'
  const all = [
    { label: 'Create an API key', icon: KeyRound, right: 'keys', run: go('/settings/keys?create=1') },
    { label: 'Start an agent', icon: Bot, right: 'agents:write', run: go('/agents/new') },
    { label: 'Manage webhooks', icon: Webhook, right: 'webhooks', run: go('/webhooks') },
    { label: 'Switch between light and dark', icon: Moon, run: toggleTheme },
    { label: 'Sign out', icon: LogOut, run: () => void signOut() },
  ]
  return all
    .filter(({ right }) => right === undefined || rights.has(right))
    .map(({ label, icon, run }) => ({ label, icon, run, hint }))
}
