import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CHART_COLORS } from '../lib/tones.ts'

type Theme = ReadonlyMap<string, string>

const styles = readFileSync(new URL('../styles.css', import.meta.url), 'utf8')
const light = themeAt(':root {')
const dark = themeAt(':root[data-theme="dark"] {')
const system = themeAt(':root:not([data-theme]) {')
const THEMES = [
  ['light', light],
  ['dark', dark],
] as const

const GROUNDS = ['canvas', 'surface', 'sunken', 'hover']
const TEXTS = ['ink', 'soft', 'faint', 'accent', 'good', 'warn', 'bad', 'info']
const TONES = ['accent', 'good', 'warn', 'bad', 'info']
const CHARTS = Array.from({ length: CHART_COLORS }, (_, index) => `chart-${index + 1}`)

/** The custom properties of the first block that begins with `selector`. */
function themeAt(selector: string): Theme {
  const start = styles.indexOf(`${selector}\n`)
  assert.notEqual(start, -1, `no block ${selector}`)
  const block = styles.slice(start, styles.indexOf('}', start))
  return new Map([...block.matchAll(/--([a-z0-9-]+):\s*([^;]+);/g)].map(([, name = '', value = '']) => [name, value]))
}

/** WCAG 2.2: (lighter + 0.05) / (darker + 0.05). */
function contrast(theme: Theme, first: string, second: string): number {
  const [darker = 0, lighter = 0] = [luminance(theme, first), luminance(theme, second)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(theme: Theme, token: string): number {
  const [red = 0, green = 0, blue = 0] = channels(theme, token)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Red, green and blue, linear. */
function channels(theme: Theme, token: string): readonly number[] {
  const color = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/.exec(theme.get(token) ?? '')
  assert.ok(color, `--${token} is not six hexadecimal digits: ${theme.get(token)}`)
  return color.slice(1).map((part) => linear(Number.parseInt(part, 16) / 255))
}

function linear(channel: number): number {
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
}

type View = (color: readonly number[]) => readonly number[]

const through = (matrix: readonly (readonly number[])[]): View => {
  return (color) => matrix.map((row) => row.reduce((sum, factor, index) => sum + factor * (color[index] ?? 0), 0))
}
/** Machado, Oliveira and Fernandes 2009, severity 1. */
const limited = (matrix: readonly (readonly number[])[]): View => {
  return (color) => through(matrix)(color).map((channel) => Math.min(1, Math.max(0, channel)))
}
const protanopia = limited([
  [0.152286, 1.052583, -0.204868],
  [0.114503, 0.786281, 0.099216],
  [-0.003882, -0.048116, 1.051998],
])
const deuteranopia = limited([
  [0.367322, 0.860646, -0.227968],
  [0.280085, 0.672501, 0.047413],
  [-0.01182, 0.04294, 0.968881],
])
const toCones = through([
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
])
const toLab = through([
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
])

/** In OKLab, where black and white are 1 apart. */
function difference(one: readonly number[], other: readonly number[]): number {
  const [a = [], b = []] = [one, other].map((color) => toLab(toCones(color).map(Math.cbrt)))
  return Math.hypot(...a.map((part, index) => part - (b[index] ?? 0)))
}

function assertContrast(theme: Theme, pairs: readonly (readonly [string, string])[], least: number): void {
  const low = pairs.map(([a, b]) => ({ a, b, ratio: contrast(theme, a, b) })).filter(({ ratio }) => ratio < least)
  assert.deepEqual(
    low.map(({ a, b, ratio }) => `${a} on ${b}: ${ratio.toFixed(2)}`),
    [],
  )
}

test('black on white is 21 to 1, so the arithmetic is that of the standard', () => {
  const extremes = new Map([
    ['black', '#000000'],
    ['white', '#ffffff'],
    ['gray', '#767676'],
  ])
  assert.equal(contrast(extremes, 'black', 'white'), 21)
  assert.equal(contrast(extremes, 'gray', 'white').toFixed(2), '4.54')
})

test('dark is the same whether the reader or the system asks for it', () => {
  assert.deepEqual([...system], [...dark])
})

test('every token has a value in both themes', () => {
  assert.deepEqual([...dark.keys()], [...light.keys()])
  const named = [...styles.matchAll(/^ {2}--color-[a-z0-9-]+: var\(--([a-z0-9-]+)\);$/gm)].map(([, name]) => name)
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter((name) => name === undefined || !light.has(name)),
    [],
  )
})

for (const [name, theme] of THEMES) {
  test(`${name}: text is readable on every ground (4.5:1)`, () => {
    const pairs = GROUNDS.flatMap((ground) => TEXTS.map((text) => [text, ground] as const))
    assertContrast(theme, pairs, 4.5)
  })

  test(`${name}: text is readable on the soft color of its tone, and on what is filled (4.5:1)`, () => {
    const soft = TONES.flatMap((tone) => [
      [tone, `${tone}-soft`] as const,
      ['ink', `${tone}-soft`] as const,
      ['soft', `${tone}-soft`] as const,
    ])
    const filled = ['accent', 'accent-hover', 'bad', 'bad-hover'].map((fill) => ['on-accent', fill] as const)
    assertContrast(theme, [...soft, ...filled], 4.5)
  })

  test(`${name}: no two colors of charts look alike, in the first row also with red-green blindness`, () => {
    const close = (row: number, least: number, views: readonly View[]) =>
      CHARTS.slice(0, row).flatMap((one, index) =>
        CHARTS.slice(index + 1, row).flatMap((other) =>
          views.some((view) => difference(view(channels(theme, one)), view(channels(theme, other))) < least)
            ? [`${one} and ${other}`]
            : [],
        ),
      )
    assert.deepEqual(close(CHART_COLORS, 0.06, [(color) => color]), [])
    assert.deepEqual(close(8, 0.05, [protanopia, deuteranopia]), [])
  })

  test(`${name}: borders of controls, focus and charts stand out from their ground (3:1)`, () => {
    const marks = ['strong', 'focus', ...CHARTS]
    assertContrast(
      theme,
      ['canvas', 'surface', 'sunken'].flatMap((ground) => marks.map((mark) => [mark, ground] as const)),
      3,
    )
  })
}
