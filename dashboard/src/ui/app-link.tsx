/** Links for the kit. Within the dashboard where they lead is data here, so their types are wider than the router's. */
import { Link } from '@tanstack/react-router'
import type { ComponentPropsWithRef, ComponentType, ReactNode } from 'react'
import { classNames } from './class-names.ts'

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

export interface ExternalLinkProps {
  readonly href: string
  readonly className?: string
  readonly children: ReactNode
}

/** Opens another site in a window of its own. What is no address of the web is text. */
export function ExternalLink({ href, className, children }: ExternalLinkProps) {
  if (!/^https?:\/\//.test(href)) return <span className={className}>{children}</span>
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer noopener nofollow"
      className={classNames('text-accent underline', className)}
    >
      {children}
    </a>
  )
}
