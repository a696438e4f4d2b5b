/** The address of the view: read, changed, and what one can go to from here. */
import { getRouteApi } from '@tanstack/react-router'
import type { LinkTarget } from '../../ui/app-link.tsx'
import { type RequestsSearch, readRequestsSearch } from './search.ts'

const route = getRouteApi('/requests')

/** Undefined takes a value out of the address. */
export type RequestsChanges = { readonly [Name in keyof RequestsSearch]?: RequestsSearch[Name] | undefined }

/** Without the request whose sheet is open: opening it renders nothing of the list again. */
export function useRequestsSearch(): RequestsSearch {
  return route.useSearch({ select: ({ request: _, ...search }): RequestsSearch => search, structuralSharing: true })
}

/** The ID of the request whose sheet is open. */
export function useOpenRequest(): string | undefined {
  return route.useSearch({ select: ({ request }) => request })
}

/** Leaves the page where it is scrolled to. */
export function useRequestsChange(): (changes: RequestsChanges) => void {
  const navigate = route.useNavigate()
  return (changes) =>
    void navigate({ search: (previous) => readRequestsSearch({ ...previous, ...changes }), resetScroll: false })
}

/** The same view with the sheet of a request. */
export function sheetTarget(request: string): LinkTarget {
  const target = { to: '/requests', search: (previous: object) => ({ ...previous, request }), resetScroll: false }
  return target
}
