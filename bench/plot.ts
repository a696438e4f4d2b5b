/** A bar chart of the bench's CPU time, as SVG. */
import { escapeHtml } from '../src/lib/escape.ts'
import { type Row, TARGETS, type TargetName } from './report.ts'

const WIDTH = 860
const LABEL_WIDTH = 330
const VALUE_WIDTH = 80
const BAR_HEIGHT = 14
const GROUP_GAP = 12
const TOP = 34
const COLOURS: Readonly<Record<TargetName, string>> = { nginx: '#8c8c8c', forwarder: '#4c78a8', gateway: '#e45756' }

/** Bars of every figure of CPU time as a multiple of the forwarder's: figures differ by orders of magnitude. */
export function plotCpu(rows: readonly Row[]): string {
  const shown = rows.filter(({ figure, ratio }) => figure.includes('CPU') && Number.isFinite(ratio))
  const most = Math.max(1, ...shown.map(({ ratio = 0 }) => ratio))
  const scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / most
  const parts = [text({ x: 0, y: 14 }, 'CPU time as a multiple of a bare Node.js forwarder, and in µs; less is better')]
  let y = TOP
  for (const { figure, values } of shown) {
    parts.push(text({ x: 0, y: y + BAR_HEIGHT - 3 }, figure))
    for (const name of TARGETS) {
      const value = values[name]
      if (value === undefined) continue
      const width = (value / (values.forwarder ?? value)) * scale
      parts.push(
        `<rect x="${LABEL_WIDTH}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT - 2}" fill="${COLOURS[name]}"/>`,
      )
      parts.push(text({ x: LABEL_WIDTH + width + 6, y: y + BAR_HEIGHT - 3 }, `${name} ${value.toFixed(1)}`))
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
