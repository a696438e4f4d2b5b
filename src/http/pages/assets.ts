/** Style, script and icon of the pages, served from memory under names with a hash of their content. */
import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../../domain/errors.ts'

interface Asset {
  readonly path: string
  readonly type: string
  readonly content: string
}

/** The same as the dashboard's. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#5145cd"/>
<path d="M7 10h18M16 10v14" stroke="#fff" stroke-width="4" stroke-linecap="round"/><circle cx="24" cy="22" r="3" fill="#a5b4fc"/></svg>
`
const HASH_LENGTH = 12

/** Style of the pages, light and dark, from 320 px. Text has a contrast of at least 4.5:1. */
const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f4f5f8; --card: #fff; --text: #171a21; --muted: #545c6b; --line: #d8dce4; --field: #848c9b;
  --accent: #5145cd; --accent-strong: #4338b0; --on-accent: #fff; --soft: #f0effc;
  --good: #1a7f4b; --good-soft: #e6f5ec; --bad: #b3261e; --bad-soft: #fdeeed;
  --shadow: 0 1px 2px #10182810, 0 8px 28px #10182812;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1015; --card: #171a21; --text: #e9ebf1; --muted: #a6aebd; --line: #2d323d; --field: #767f90;
    --accent: #a19af9; --accent-strong: #b9b4fb; --on-accent: #14122b; --soft: #24223f;
    --good: #6fd3a0; --good-soft: #16301f; --bad: #ff9d95; --bad-soft: #3a1a18;
    --shadow: none;
  }
}
*, *::before, *::after { box-sizing: border-box }
[hidden] { display: none !important }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
body {
  margin: 0; min-height: 100vh; min-height: 100dvh; display: flex; flex-direction: column; align-items: center;
  padding: clamp(1.25rem, 6vh, 4rem) 1rem 1.5rem; background: var(--page); color: var(--text);
  font: 1rem/1.55 var(--sans); overflow-wrap: anywhere;
}
body > header, main, body > footer { width: 100%; max-width: 28rem }
body > header { margin-bottom: 1.25rem }
.brand {
  display: inline-flex; align-items: center; gap: 0.6rem; min-height: 2.75rem; padding: 0 0.25rem; color: var(--text);
  font-size: 1.0625rem; font-weight: 650; letter-spacing: -0.01em; text-decoration: none;
}
.brand:hover { text-decoration: underline; text-underline-offset: 0.2em }
.brand img { display: block }
main {
  padding: clamp(1.25rem, 5vw, 2rem); border: 1px solid var(--line); border-radius: 1rem; background: var(--card);
  box-shadow: var(--shadow);
}
h1 { margin: 0 0 0.5rem; font-size: 1.5rem; line-height: 1.25; letter-spacing: -0.015em; text-wrap: balance }
h2 { margin: 1.75rem 0 0.5rem; font-size: 1rem; line-height: 1.4 }
p { margin: 0 0 1rem }
main > :last-child, form > :last-child { margin-bottom: 0 }
.lead, .hint, footer { color: var(--muted) }
.hint { margin: 0.5rem 0 0; font-size: 0.9375rem }
a { color: var(--accent); text-underline-offset: 0.15em }
a:hover { color: var(--accent-strong) }
code { padding: 0.1em 0.35em; border-radius: 0.3rem; background: var(--soft); font: 0.9em var(--mono) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
form { margin: 1.5rem 0 0 }
label { display: block; margin-bottom: 0.375rem; font-weight: 600 }
input[type="text"] {
  width: 100%; min-height: 3.25rem; padding: 0.5rem 0.875rem; border: 1px solid var(--field); border-radius: 0.625rem;
  background: var(--card); color: var(--text); font: 1rem var(--mono);
}
input.user-code { min-height: 4rem; font-size: 1.625rem; letter-spacing: 0.12em; text-align: center; text-transform: uppercase }
input.user-code::placeholder { color: var(--muted); opacity: 1 }
input[aria-invalid="true"] { border: 2px solid var(--bad) }
.error { margin: 0.5rem 0 0; color: var(--bad); font-weight: 600 }
.button {
  display: flex; align-items: center; justify-content: center; width: 100%; min-height: 3.25rem; margin: 0; padding: 0.5rem 1.25rem;
  border: 1px solid var(--accent); border-radius: 0.625rem; background: var(--accent); color: var(--on-accent);
  font: 600 1.0625rem/1.3 var(--sans); text-align: center; text-decoration: none; cursor: pointer;
}
.button:hover { border-color: var(--accent-strong); background: var(--accent-strong); color: var(--on-accent) }
.button.second { border-color: var(--field); background: transparent; color: var(--text) }
.button.second:hover { border-color: var(--text); background: var(--soft); color: var(--text) }
.field + .button, form > .buttons, main > .buttons, p + .button { margin-top: 1.25rem }
.button + .hint { margin-top: 1rem }
section form { margin-top: 0.75rem }
.buttons { display: grid; gap: 0.75rem; margin: 0; padding: 0; list-style: none }
.buttons.pair { grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)) }
.link {
  min-height: 2.75rem; padding: 0; border: 0; background: none; color: var(--accent); font: inherit; cursor: pointer;
  text-decoration: underline; text-underline-offset: 0.15em;
}
.link:hover { color: var(--accent-strong) }
.code-to-compare {
  margin: 1rem 0; padding: 0.875rem 0.5rem; border-radius: 0.75rem; background: var(--soft); text-align: center;
  font: 600 clamp(1.5rem, 9vw, 2.25rem)/1.2 var(--mono); letter-spacing: 0.08em; white-space: nowrap;
}
dl { margin: 1.25rem 0 0 }
dl > div { display: grid; grid-template-columns: 6rem 1fr; gap: 0 1rem; padding: 0.5rem 0; border-top: 1px solid var(--line) }
dt { color: var(--muted) }
dd { margin: 0; min-width: 0 }
dd small { display: block; color: var(--muted); font-size: 0.875rem }
.rights { margin: 0; padding: 0; list-style: none }
.rights li { position: relative; padding: 0.2rem 0 0.2rem 1.75rem }
.rights li::before { position: absolute; left: 0.25rem; font-weight: 700 }
.may li::before { content: "✓" / ""; color: var(--good) }
.not li::before { content: "✕" / ""; color: var(--bad) }
.warning { margin: 1.5rem 0 0; padding: 0.75rem 1rem; border-left: 4px solid var(--bad); border-radius: 0.375rem; background: var(--bad-soft) }
.note { margin: 1.25rem 0 0; padding: 0.75rem 1rem; border-left: 4px solid var(--accent); border-radius: 0.375rem; background: var(--soft) }
.sign {
  display: flex; align-items: center; justify-content: center; width: 3rem; height: 3rem; margin: 0 0 1rem; border-radius: 50%;
  background: var(--soft); color: var(--accent);
}
.sign.good { background: var(--good-soft); color: var(--good) }
.sign.bad { background: var(--bad-soft); color: var(--bad) }
.who { margin: 1.75rem 0 0; padding-top: 0.75rem; border-top: 1px solid var(--line) }
.who p { margin: 0.25rem 0 0; color: var(--muted); font-size: 0.9375rem }
.who form { margin: 0 }
body > footer { margin-top: 1rem; padding: 0 0.25rem; font-size: 0.9375rem }
body > footer a { display: inline-flex; align-items: center; min-height: 2.75rem; color: inherit }
@media (max-width: 22rem) { dl > div { grid-template-columns: 1fr } }
@media (forced-colors: active) { .button, main, .code-to-compare { border: 1px solid } }
`

/**
 * The only script of the pages. The token of a one-time link or an invitation is in the fragment, which browsers do not
 * send: the script moves it from the address bar into the form, and submits forms with `data-token="send"`.
 */
const TOKEN_SCRIPT = `'use strict'
function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  const form = document.querySelector('form[data-token]')
  if (token === null || form === null) return
  history.replaceState(null, '', location.pathname)
  form.elements.token.value = token
  form.querySelector('.field').hidden = true
  if (form.dataset.token === 'send') form.submit()
}
takeToken()
addEventListener('hashchange', takeToken)
`

export const STYLE = asset('pages.css', 'text/css; charset=utf-8', PAGE_STYLE)
export const SCRIPT = asset('token.js', 'text/javascript; charset=utf-8', TOKEN_SCRIPT)
export const ICON_IMAGE = asset('icon.svg', 'image/svg+xml', ICON)

const BY_PATH = new Map([STYLE, SCRIPT, ICON_IMAGE].map((each) => [each.path, each]))
const BY_NAME = new Map([STYLE, SCRIPT, ICON_IMAGE].map((each) => [nameOf(each.path), each]))

/** During a rolling update a page of one process may load its style from another, which sends its own version. */
export function assetRoutes(app: FastifyInstance): void {
  app.get('/assets/:file', { schema: { hide: true } }, (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const exact = BY_PATH.get(path)
    const found = exact ?? BY_NAME.get(nameOf(path))
    if (found === undefined) throw new GatewayError('not_found', 'File not found.')
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
