/** A bar chart of the bench's CPU time, as SVG. */
import { escapeHtml } from '../src/lib/text.ts'
import { FORWARDER, type Row, ratioOf } from './report.ts'

const WIDTH = 960
const LABEL_WIDTH = 330
const VALUE_WIDTH = 190
const BAR_HEIGHT = 14
const GROUP_GAP = 12
const TOP = 34
const COLOURS = ['#8c8c8c', '#4c78a8', '#e45756', '#f58518', '#54a24b', '#b279a2', '#9d755d']
/** Longer bars end here; their text has the figure. */
const MOST_RATIO = 10

/**
 * Bars of every figure of CPU time as a multiple of the forwarder's, since figures differ by orders of magnitude.
 * @param names Of the targets, in the order of their bars.
 */
export function plotCpu(rows: readonly Row[], names: readonly string[]): string {
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / MOST_RATIO
  const parts = [text({ x: 0, y: 14 }, 'CPU time as a multiple of a bare Node.js forwarder, and in µs; less is better')]
  let y = TOP
  for (const row of rows.filter((each) => each.figure.includes('CPU') && ratioOf(each) !== undefined)) {
    const { figure, values } = row
    parts.push(text({ x: 0, y: y + BAR_HEIGHT - 3 }, figure))
    for (const [at, name] of names.entries()) {
      const [value, bare] = [values[name], values[FORWARDER]]
      if (value === undefined || bare === undefined) continue
      const width = Math.min(value / bare, MOST_RATIO) * scale
      const fill = COLOURS[at % COLOURS.length]
      const size = `width="${width.toFixed(1)}" height="${BAR_HEIGHT - 2}"`
      parts.push(`<rect x="${LABEL_WIDTH}" y="${y}" ${size} fill="${fill}"/>`)
      const label = `${name} ${value.toFixed(1)}${value / bare > MOST_RATIO ? `, ${(value / bare).toFixed(0)} ×` : ''}`
      parts.push(text({ x: LABEL_WIDTH + width + 6, y: y + BAR_HEIGHT - 3 }, label))
      y += BAR_HEIGHT
    }
    y += GROUP_GAP
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="sans-serif" font-size="12">`
  return `${head}\n<rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`
}

function text({ x, y }: { readonly x: number; readonly y: number }, content: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}">${escapeHtml(content)}</text>`
}
