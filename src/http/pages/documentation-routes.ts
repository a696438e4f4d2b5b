/**
 * The documentation site under `/docs/`, and `/llms.txt`: the files that `npm run build:docs` wrote, compressed with gzip alone, so
 * that the package stays small. They are public, and read when they are requested: a dashboard is open all day, a page of the
 * documentation is not.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'
import { DASHBOARD_FOLDER, fileOf, sendDashboardFile } from '../dashboard.ts'
import { documentationHeaders, referenceHeaders } from './page-headers.ts'

export const DOCUMENTATION_FOLDER = join(DASHBOARD_FOLDER, '..', '..', 'site', 'dist')

const MISSING_PAGE = '404.html'
/** Of the API reference, whose component needs headers of its own. */
const REFERENCE = 'api/'
/** Pages that were split or renamed, so that old links lead on. */
const MOVED: Readonly<Record<string, string>> = { 'clients/editors': 'clients/' }
const decompress = promisify(gunzip)

/** @param publicUrl With https, HSTS is sent. */
export function documentationRoutes(app: FastifyInstance, publicUrl: string): void {
  const pageHeaders = documentationHeaders(publicUrl)
  const apiHeaders = referenceHeaders(publicUrl)
  const send = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const moved = MOVED[path.replace(/\.(html|md)$/, '')]
    if (moved !== undefined) return reply.redirect(`/docs/${moved}`, 302)
    const found = await findFile(path)
    if (found === undefined && (await readCompressed(`${path}/index.html`)))
      return reply.redirect(`/docs/${path}/`, 302)
    const shown = found ?? (await missingPage(request))
    if (found === undefined) reply.code(404)
    const forms = new Map([[`${shown.name}.gz`, shown.bytes]])
    const file = fileOf(shown.name, await decompress(shown.bytes), forms)
    return sendDashboardFile(request, reply.headers(path.startsWith(REFERENCE) ? apiHeaders : pageHeaders), file)
  }
  app.get('/docs', { schema: { hide: true } }, (request, reply) =>
    endsInSlash(request) ? send(request, reply, '') : reply.redirect('/docs/', 302),
  )
  app.get<{ Params: { '*': string } }>('/docs/*', { schema: { hide: true } }, (request, reply) =>
    send(request, reply, request.params['*'] + (endsInSlash(request) ? '/' : '')),
  )
  app.get('/llms.txt', { schema: { hide: true } }, (request, reply) => send(request, reply, 'llms.txt'))
}

/** The router ignores it, but links of a page are relative to it. */
function endsInSlash({ url }: FastifyRequest): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

interface CompressedFile {
  /** Without `.gz`. */
  readonly name: string
  readonly bytes: Buffer
}

/** The file of a path: `errors` is `errors.html`, and `clients/` is `clients/index.html`. */
async function findFile(path: string): Promise<CompressedFile | undefined> {
  if (path === '' || path.endsWith('/')) return readCompressed(`${path}index.html`)
  return (await readCompressed(path)) ?? readCompressed(`${path}.html`)
}

async function missingPage({ headers }: FastifyRequest): Promise<CompressedFile> {
  const page = headers.accept?.includes('text/html') ? await readCompressed(MISSING_PAGE) : undefined
  if (page !== undefined) return page
  throw new GatewayError('not_found', "No such page of the documentation, or 'npm run build:docs' has not run.")
}

/** No segment begins with a dot, so that no path leads outside of the folder. Undefined where there is no such file. */
async function readCompressed(name: string): Promise<CompressedFile | undefined> {
  if (!name.split('/').every((segment) => /^[\w@-][\w@.-]*$/.test(segment))) return undefined
  const bytes = await readFile(join(DOCUMENTATION_FOLDER, `${name}.gz`)).catch(noneWithoutFile)
  return bytes && { name, bytes }
}

function noneWithoutFile(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(error.code ?? '')) throw error
}
