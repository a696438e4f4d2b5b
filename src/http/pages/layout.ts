/** The frame of every page: plain HTML that is complete without script. */
import { ICON_IMAGE, SCRIPT, STYLE } from './assets.ts'
import { type Html, html } from './html.ts'

export interface Page {
  /** Of the window, without our name. */
  readonly title: string
  /** Begins with the `h1`. */
  readonly content: Html
  /** With the script that takes the token from the address. */
  readonly takesToken?: boolean
}

export function renderPage({ title, content, takesToken = false }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} – Turnpike</title>
<link rel="stylesheet" href="${STYLE.path}">
<link rel="icon" type="image/svg+xml" href="${ICON_IMAGE.path}">
${takesToken && html`<script src="${SCRIPT.path}" defer></script>`}
</head>
<body>
<header><a class="brand" href="/app/"><img src="${ICON_IMAGE.path}" width="28" height="28" alt="">Turnpike</a></header>
<main>
${content}
</main>
<footer><a href="/docs">Documentation</a></footer>
</body>
</html>
`.markup
}
