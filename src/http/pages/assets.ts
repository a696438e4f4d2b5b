/** Style, script and icon of the pages, served from memory under names that change with what is in them. */
import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { TOKEN_SCRIPT } from './script.ts'
import { PAGE_STYLE } from './style.ts'

interface Asset {
  readonly path: string
  readonly type: string
  readonly content: string
}

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#2f5bd7"/>
<path d="M8 10h16M16 10v14M8 17h5M19 17h5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>
`
const HASH_LENGTH = 12

export const STYLE = asset('pages.css', 'text/css; charset=utf-8', PAGE_STYLE)
export const SCRIPT = asset('token.js', 'text/javascript; charset=utf-8', TOKEN_SCRIPT)
export const ICON_IMAGE = asset('icon.svg', 'image/svg+xml', ICON)

const BY_PATH = new Map([STYLE, SCRIPT, ICON_IMAGE].map((each) => [each.path, each]))
const BY_NAME = new Map([STYLE, SCRIPT, ICON_IMAGE].map((each) => [nameOf(each.path), each]))

/** While an installation goes over to another version, a page of one process asks another for its style: it gets its own. */
export function assetRoutes(app: FastifyInstance): void {
  app.get('/assets/:file', { schema: { hide: true } }, (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const exact = BY_PATH.get(path)
    const found = exact ?? BY_NAME.get(nameOf(path))
    if (found === undefined) throw new GatewayError('not_found', 'There is no such file.')
    return reply
      .header('cache-control', exact === undefined ? 'no-store' : 'public, max-age=31536000, immutable')
      .header('x-content-type-options', 'nosniff')
      .type(found.type)
      .send(found.content)
  })
}

function asset(name: string, type: string, content: string): Asset {
  const version = hash('sha256', content).slice(0, HASH_LENGTH)
  return { path: `/assets/${name.replace('.', `-${version}.`)}`, type, content }
}

function nameOf(path: string): string {
  return path.replace(/-[0-9a-f]{12}\./, '.')
}
