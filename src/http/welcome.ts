import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { escapeHtml } from '../lib/html.ts'
import { PAGE_HEADERS } from './page-headers.ts'

/** `/` sends browsers to `/app/`, which says what is there. */
export function welcomeRoutes(app: FastifyInstance, { publicUrl }: { publicUrl: string }): void {
  app.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/app/', 302))
  const page = renderPage(publicUrl)
  const send = (_request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    reply.headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(page)
  app.get('/app', { schema: { hide: true } }, send)
  app.get('/app/*', { schema: { hide: true } }, send)
}

function renderPage(publicUrl: string): string {
  const url = escapeHtml(publicUrl)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Turnpike</title>
<style>
  :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif }
  body { max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem }
  code { font: 0.9em ui-monospace, monospace; padding: 0.1em 0.3em; border: 1px solid #8884; border-radius: 4px }
</style>
<h1>Turnpike is running</h1>
<p>Point any OpenAI client at <code>${url}/v1</code> and use an API key of this installation.</p>
<p>The dashboard is to come. Until then, <code>turnpike keys</code> and <code>turnpike accounts</code> manage access,
and <code>GET /v1/usage</code> reports what was used.</p>
<p><a href="/docs">The API in full</a>, and <a href="/openapi.json">the same for machines</a>.</p>
</html>
`
}
