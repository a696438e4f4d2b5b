/** A chart of predicted waiting times by rate, as SVG with logarithmic axes. */
import { escapeHtml } from '../../src/lib/text.ts'
import type { Prediction } from './predictions.ts'

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [860, 420, 60, 30, 50] as const
const TITLE = 'Predicted p99 of what the gateway adds to a request, ms, by requests a second'
const LEGEND_WIDTH = 220
const [RATES, WAITS_MS] = [
  [1e3, 1e6],
  [1, 1e4],
] as const
const COLOURS = ['#4c78a8', '#f58518', '#e45756', '#72b7b2', '#54a24b']

export function plotPredictions(predictions: readonly Prediction[]): string {
  const parts = [`<title>${TITLE}</title>`, '<rect width="100%" height="100%" fill="#fff"/>', text(0, 16, TITLE)]
  for (let rate = RATES[0]; rate <= RATES[1]; rate *= 10)
    parts.push(...gridLine(x(rate), TOP, x(rate), HEIGHT - BOTTOM))
  for (let ms = WAITS_MS[0]; ms <= WAITS_MS[1]; ms *= 10)
    parts.push(...gridLine(LEFT, y(ms), WIDTH - LEGEND_WIDTH, y(ms)))
  for (let rate = RATES[0]; rate <= RATES[1]; rate *= 10)
    parts.push(text(x(rate) - 20, HEIGHT - BOTTOM + 18, rate.toLocaleString('en')))
  for (let ms = WAITS_MS[0]; ms <= WAITS_MS[1]; ms *= 10) parts.push(text(10, y(ms) + 4, ms.toLocaleString('en')))
  for (const [at, { scenario, points }] of predictions.entries()) {
    const colour = COLOURS[at % COLOURS.length]
    const line = points
      .filter(({ p99Ms }) => Number.isFinite(p99Ms))
      .map(({ offeredPerSecond, p99Ms }) => `${x(offeredPerSecond).toFixed(1)},${y(p99Ms).toFixed(1)}`)
    parts.push(`<polyline points="${line.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`)
    const top = TOP + 20 * at
    parts.push(`<rect x="${WIDTH - LEGEND_WIDTH + 14}" y="${top}" width="12" height="12" fill="${colour}"/>`)
    parts.push(text(WIDTH - LEGEND_WIDTH + 32, top + 11, scenario.name))
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`
  return `${head}\n${parts.join('\n')}\n</svg>\n`
}

function x(rate: number): number {
  return LEFT + share(rate, RATES) * (WIDTH - LEGEND_WIDTH - LEFT)
}

function y(ms: number): number {
  return HEIGHT - BOTTOM - share(ms, WAITS_MS) * (HEIGHT - BOTTOM - TOP)
}

/** On a logarithmic scale, within its ends. */
function share(value: number, [least, most]: readonly [number, number]): number {
  return Math.min(1, Math.max(0, Math.log(value / least) / Math.log(most / least)))
}

function gridLine(x1: number, y1: number, x2: number, y2: number): string[] {
  return [
    `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="#ddd"/>`,
  ]
}

function text(left: number, base: number, content: string): string {
  return `<text x="${left.toFixed(1)}" y="${base}">${escapeHtml(content)}</text>`
}
