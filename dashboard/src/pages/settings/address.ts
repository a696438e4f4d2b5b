/** What of a view of Settings is in its address: read, linked to, and changed. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { LinkTarget } from '../../ui/app-link.tsx'

type Raw = Record<string, unknown>
/** Undefined takes the value out of the address. */
export type SearchChanges = Readonly<Record<string, string | undefined>>

/** @param read Takes what the address has, whatever it is, and never throws. */
export function useSearchOf<Search>(read: (raw: Raw) => Search): Search {
  const raw: Raw = useSearch({ strict: false })
  return read({ ...raw })
}

/** Changes the address of this view and leaves the page where it is scrolled to. */
export function useSearchChange(): (changes: SearchChanges, options?: { readonly replace?: boolean }) => void {
  const navigate = useNavigate()
  return (changes, { replace = false } = {}) => {
    void navigate({
      to: '.',
      search: (previous: Raw) => ({ ...previous, ...changes }),
      replace,
      resetScroll: false,
    })
  }
}

/** A link to this view with these changes. What is scrolled to stays. */
export function targetWith(to: string, changes: SearchChanges): LinkTarget {
  const target = { to, search: (previous: Readonly<Raw>) => ({ ...previous, ...changes }), resetScroll: false }
  return target
}
