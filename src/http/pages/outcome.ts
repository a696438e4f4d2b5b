/** The page that says how something ended. */
import { type Html, html } from './html.ts'
import { renderPage } from './layout.ts'

export interface Outcome {
  readonly title: string
  readonly text: string
  readonly action?: { readonly href: string; readonly label: string }
  /** The sign above the words, which say the same; none unless given. */
  readonly sign?: Sign
}

type Sign = 'good' | 'bad'

export function renderOutcome({ title, text, action, sign }: Outcome): string {
  const content = html`${sign !== undefined && renderSign(sign)}
<h1>${title}</h1>
<p class="lead">${text}</p>
${action !== undefined && html`<a class="button" href="${action.href}">${action.label}</a>`}`
  return renderPage({ title, content })
}

const STROKES: Readonly<Record<Sign, string>> = { good: 'M5 12.5l4.5 4.5L19 7.5', bad: 'M7 7l10 10M17 7L7 17' }

function renderSign(sign: Sign): Html {
  return html`<div class="sign ${sign}" aria-hidden="true"><svg width="24" height="24" viewBox="0 0 24 24" fill="none"
stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"><path d="${STROKES[sign]}"/></svg></div>`
}
