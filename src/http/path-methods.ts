/**
 * Which methods a path has: what a request to a path without the asked method is told in `Allow` (RFC 9110, 15.5.6).
 * The router answers for one method alone, so the patterns of all routes are kept here and compared when nothing matched.
 */
import type { FastifyInstance } from 'fastify'

/** @returns The methods of a path, sorted; empty where no route has it. `path` is without query. */
export type PathMethods = (path: string) => readonly string[]

interface Pattern {
  readonly segments: readonly string[]
  readonly methods: Set<string>
}

/** Records the routes that are registered on `app` from now on. */
export function recordPathMethods(app: FastifyInstance): PathMethods {
  const patterns = new Map<string, Pattern>()
  app.addHook('onRoute', ({ url, method }) => {
    if (url === '*' || url === '/*') return // preflight of every path, no route of one
    const pattern = patterns.get(url) ?? { segments: segmentsOf(url), methods: new Set<string>() }
    patterns.set(url, pattern)
    for (const each of [method].flat()) pattern.methods.add(each.toUpperCase())
  })
  return (path) => {
    const segments = segmentsOf(path)
    const methods = new Set<string>()
    for (const pattern of patterns.values()) {
      if (matches(pattern.segments, segments)) for (const method of pattern.methods) methods.add(method)
    }
    return [...methods].sort()
  }
}

function segmentsOf(path: string): readonly string[] {
  return path.replace(/(?<=.)\/$/, '').split('/')
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false
  return pattern.every((segment, at) => segment === '*' || matchesSegment(segment, path[at] ?? ''))
}

/** A parameter stands for one segment that is not empty. */
function matchesSegment(pattern: string, segment: string): boolean {
  return pattern.startsWith(':') ? segment !== '' : pattern === segment
}
