import type { FastifyInstance } from 'fastify'
import { escapeHtml } from '../../lib/escape.ts'
import { PAGE_HEADERS } from './page-headers.ts'

/** The parts of an OpenAPI document that the page shows. */
interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema?: Schema
    readonly description?: string
  }[]
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }
}
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

/** `GET /docs`: the OpenAPI document as a page, without script or content of other origins. */
export function docsRoute(app: FastifyInstance): void {
  let page: string | undefined
  app.get('/docs', { schema: { hide: true } }, (_request, reply) => {
    page ??= renderDocument(app.swagger() as unknown as Document)
    return reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page)
  })
}

function renderDocument(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const contents = operations.map(
    ({ path, method }) => `<li><a href="#${anchor(method, path)}">${method} ${escapeHtml(path)}</a></li>`,
  )
  const sections = operations.map((each) => renderOperation(document, each))
  const { title, version, description = '' } = document.info
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} API</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif }
  body { max-width: 52rem; margin: 3rem auto; padding: 0 1.25rem }
  code { font: 0.9em ui-monospace, monospace }
  h2 { margin-top: 3rem; border-top: 1px solid #8884; padding-top: 1.5rem; overflow-wrap: anywhere }
  table { border-collapse: collapse; width: 100%; margin: 1rem 0 } td, th { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #8883 }
</style>
<h1>${escapeHtml(title)} ${escapeHtml(version)}</h1>
<p>${escapeHtml(description)} OpenAPI document: <a href="/openapi.json">/openapi.json</a>.</p>
<ul>${contents.join('')}</ul>
${sections.join('\n')}
</html>
`
}

interface Listed {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

function renderOperation(document: Document, { path, method, operation }: Listed): string {
  const { summary = '', description = '', parameters = [], requestBody } = operation
  const rows = parameters.map(({ name, in: where, required, schema, description: text }) =>
    renderRow({
      name,
      where,
      required: required === true,
      schema: { ...schema, description: text ?? schema?.description ?? '' },
    }),
  )
  const body = resolve(document, requestBody?.content?.['application/json']?.schema)
  for (const [name, schema] of Object.entries(body?.properties ?? {})) {
    rows.push(renderRow({ name, where: 'body', required: body?.required?.includes(name) === true, schema }))
  }
  const head = '<tr><th>Name</th><th>In</th><th>Type</th><th>Meaning</th></tr>'
  const table = rows.length === 0 ? '' : `<table>${head}${rows.join('')}</table>`
  return `<section id="${anchor(method, path)}"><h2><code>${method} ${escapeHtml(path)}</code></h2>
<p><strong>${escapeHtml(summary)}</strong> ${escapeHtml(description)}</p>${table}</section>`
}

interface Row {
  readonly name: string
  readonly where: string
  readonly required: boolean
  readonly schema: Schema
}

function renderRow({ name, where, required, schema }: Row): string {
  const type = [schema.type ?? 'any'].flat().join(' or ')
  const cells = [
    `<code>${escapeHtml(name)}</code>${required ? ' (required)' : ''}`,
    where,
    escapeHtml(type),
    escapeHtml(schema.description ?? ''),
  ]
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
}

function resolve({ components }: Document, schema: Schema | undefined): Schema | undefined {
  const name = schema?.$ref?.split('/').at(-1)
  return name === undefined ? schema : components?.schemas?.[name]
}

function anchor(method: string, path: string): string {
  return `${method.toLowerCase()}${path.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`
}
