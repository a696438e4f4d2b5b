/**
 * The built dashboard, served from memory: its folder is read once, at start. Requests look files up by name, so that no path
 * leads outside of the folder. It must not know who is signed in.
 */
import { hash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** Limits of a build: all files with their compressed forms. */
export const DASHBOARD_LIMITS = { files: 2_000, bytes: 32 * 1024 * 1024 } as const

interface DashboardFile {
  readonly type: string
  /** The name contains a hash of the content. */
  readonly isHashed: boolean
  readonly plain: Form
  readonly br: Form | undefined
  readonly gzip: Form | undefined
}

interface Form {
  readonly bytes: Buffer
  /** Strong: each form has its own (RFC 9110, 8.8.3.3). */
  readonly etag: string
}

export interface Dashboard {
  /** `index.html`, which is sent for every path without a file. */
  readonly page: DashboardFile
  /** The files by path within the folder, such as `assets/index-B3x.js`. */
  readonly files: ReadonlyMap<string, DashboardFile>
}

/** Path to the root of the package from this source file, or from its build in `dist/`. */
const ROOT = extname(import.meta.filename) === '.ts' ? ['..', '..'] : ['..', '..', '..']
export const DASHBOARD_FOLDER = join(import.meta.dirname, ...ROOT, 'dashboard', 'dist')

const PAGE = 'index.html'
const HASHED = 'assets/'
const COMPRESSED = /\.(?:br|gz)$/
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/**
 * Returns undefined without an `index.html`, because the dashboard is not built. Rejects if the folder exceeds
 * `DASHBOARD_LIMITS`.
 */
export async function readDashboard(folder: string): Promise<Dashboard | undefined> {
  const contents = await readContents(folder)
  const files = new Map<string, DashboardFile>()
  for (const [path, bytes] of contents) {
    if (!COMPRESSED.test(path)) files.set(path, fileOf(path, bytes, contents))
  }
  const page = files.get(PAGE)
  return page === undefined ? undefined : { page, files }
}

async function readContents(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(noneWithoutFolder)
  const names = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  if (names.length > DASHBOARD_LIMITS.files) throw tooMuch(folder)
  const contents = new Map<string, Buffer>()
  let size = 0
  for (const name of names) {
    size += (await stat(name)).size
    if (size > DASHBOARD_LIMITS.bytes) throw tooMuch(folder)
    contents.set(name.slice(join(folder, sep).length).replaceAll(sep, '/'), await readFile(name))
  }
  return contents
}

function noneWithoutFolder(error: NodeJS.ErrnoException): readonly never[] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
  throw error
}

function tooMuch(folder: string): Error {
  const { files, bytes } = DASHBOARD_LIMITS
  return new Error(`${folder} exceeds ${files} files or ${bytes} bytes: it is not a build of the dashboard.`)
}

/** @param contents The compressed forms, by path with `.br` and `.gz`. */
export function fileOf(path: string, bytes: Buffer, contents: ReadonlyMap<string, Buffer>): DashboardFile {
  return {
    type: TYPES[extname(path)] ?? 'application/octet-stream',
    isHashed: path.startsWith(HASHED),
    plain: formOf(bytes),
    br: formOf(contents.get(`${path}.br`)),
    gzip: formOf(contents.get(`${path}.gz`)),
  }
}

function formOf(bytes: Buffer): Form
function formOf(bytes: Buffer | undefined): Form | undefined
function formOf(bytes: Buffer | undefined): Form | undefined {
  return bytes === undefined ? undefined : { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"` }
}

/** Sends the smallest form that the client accepts; 304 when the client has it. */
export function sendDashboardFile(request: FastifyRequest, reply: FastifyReply, file: DashboardFile): FastifyReply {
  const { headers } = request
  const [coding, form] = chooseForm(file, headers['accept-encoding'])
  reply.header('cache-control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  reply.header('vary', 'accept-encoding').header('etag', form.etag).header('x-content-type-options', 'nosniff')
  if (matchesTag(headers['if-none-match'], form.etag)) return reply.code(304).send()
  if (coding !== undefined) reply.header('content-encoding', coding)
  return reply.type(file.type).send(form.bytes)
}

function chooseForm(
  { plain, br, gzip }: DashboardFile,
  acceptEncoding: string | string[] | undefined,
): readonly [string | undefined, Form] {
  const accepted = String(acceptEncoding ?? '')
  if (br !== undefined && accepts(accepted, 'br')) return ['br', br]
  if (gzip !== undefined && accepts(accepted, 'gzip')) return ['gzip', gzip]
  return [undefined, plain]
}

/** Returns whether `Accept-Encoding` names a coding with a weight above zero (RFC 9110, 12.5.3). */
function accepts(acceptEncoding: string, coding: string): boolean {
  return acceptEncoding.split(',').some((range) => {
    const [name, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
}

/** Compressing proxies make tags weak. */
function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}
