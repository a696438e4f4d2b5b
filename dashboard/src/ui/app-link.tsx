/** Links within the dashboard, for the kit: where they lead is data here, so their types are wider than the router's. */
import { Link } from '@tanstack/react-router'
import type { ComponentPropsWithRef, ComponentType } from 'react'

/** Where a link leads: a route's path from `/`, with what fills it. */
export interface LinkTarget {
  readonly to: string
  readonly params?: Readonly<Record<string, string>> | undefined
  /** The whole query, or what becomes of the present one. */
  readonly search?: LinkSearch | true | undefined
  readonly hash?: string | undefined
}

export type LinkSearch =
  | Readonly<Record<string, unknown>>
  | ((previous: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>)

export interface AppLinkProps extends LinkTarget, Omit<ComponentPropsWithRef<'a'>, 'href'> {
  readonly replace?: boolean | undefined
  readonly resetScroll?: boolean | undefined
}

// The router's own type wants each path as a literal; the paths that arrive here were checked where they were written.
const AnyLink = Link as unknown as ComponentType<AppLinkProps>

export function AppLink(props: AppLinkProps) {
  return <AnyLink {...props} />
}
