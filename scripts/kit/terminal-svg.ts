/** Renders a terminal session as an animated SVG without scripts. Where motion is not wanted, it shows the last screen. */

/** A command and what it printed. */
export interface Step {
  readonly command: string
  readonly output: string
}

const [COLUMNS, ROWS] = [96, 28]
const [LINE_PX, CHARACTER_PX, PADDING_PX] = [18, 7.8, 16]
const [WORD_MS, LINE_MS, READ_MS] = [160, 60, 5_000]
const [WIDTH, HEIGHT] = [COLUMNS * CHARACTER_PX + 2 * PADDING_PX, ROWS * LINE_PX + 2 * PADDING_PX]

/** A piece of a line, and when it appears. */
interface Piece {
  readonly text: string
  readonly row: number
  readonly atMs: number
  readonly isTyped: boolean
}

export function terminalSvg(steps: readonly Step[], label: string): string {
  const { pieces, endMs } = timed(steps)
  const percent = (ms: number) => `${((100 * ms) / endMs).toFixed(2)}%`
  const times = [...new Set(pieces.map(({ atMs }) => atMs))]
  const appear = times.map((at, index) => `@keyframes k${index}{0%{opacity:0}${percent(at)},to{opacity:1}}`)
  const scroll = pieces.map(({ atMs, row }) => `${percent(atMs)}{transform:translateY(${offset(row)}px)}`)
  const last = offset(pieces.at(-1)?.row ?? 0)
  const texts = [...Map.groupBy(pieces, ({ row }) => row)].map(([row, inLine]) => {
    const spans = inLine.map(({ text, atMs, isTyped }) => {
      const name = `animation-name:k${times.indexOf(atMs)}`
      return `<tspan class="${isTyped ? 'a c' : 'a'}" style="${name}">${escaped(text)}</tspan>`
    })
    return `<text x="${PADDING_PX}" y="${(row + 1) * LINE_PX}">${spans.join('')}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(label)}">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d1d5db;white-space:pre}
.c{fill:#86efac}
.a,.s{animation:${endMs}ms step-end infinite}
.s{transform:translateY(${last}px);animation-name:s}
@keyframes s{0%{transform:none}${[...new Set(scroll)].join('')}to{transform:translateY(${last}px)}}
${appear.join('')}
@media (prefers-reduced-motion:reduce){.a,.s{animation:none}}
</style>
<rect width="100%" height="100%" rx="10" fill="#111827" stroke="#374151"/>
<svg aria-hidden="true" y="${PADDING_PX - 4}" height="${ROWS * LINE_PX + 4}"><g class="s">
${texts.join('\n')}
</g></svg>
</svg>
`
}

/** Pixels by which the terminal is scrolled when this row is the last one. */
function offset(row: number): number {
  return -Math.max(0, row + 1 - ROWS) * LINE_PX
}

/** Commands appear word by word, output line by line. */
function timed(steps: readonly Step[]): { readonly pieces: readonly Piece[]; readonly endMs: number } {
  const pieces: Piece[] = []
  let [row, atMs] = [0, 500]
  for (const { command, output } of steps) {
    for (const line of `$ ${command}`.split('\n')) {
      for (const text of line.match(/\s*\S+/g) ?? []) {
        pieces.push({ text, row, atMs, isTyped: true })
        atMs += WORD_MS
      }
      row += 1
    }
    atMs += 4 * WORD_MS
    for (const text of output.split('\n').flatMap((line) => line.match(WRAPPED) ?? [''])) {
      if (text !== '') pieces.push({ text, row, atMs, isTyped: false })
      row += 1
      atMs += LINE_MS
    }
    row += 1
    atMs += READ_MS
  }
  return { pieces, endMs: atMs }
}

const WRAPPED = new RegExp(`.{1,${COLUMNS}}`, 'g')

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
