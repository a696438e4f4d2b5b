/** The committed snapshot of what the collections said when the catalogue was last brought up to date: facts, no files. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PriceSource } from './facts.ts'

const PATH = join(import.meta.dirname, 'snapshot.json')

export function readSnapshot(): PriceSource[] {
  return JSON.parse(readFileSync(PATH, 'utf8')) as PriceSource[]
}

/** One model a line, so that a change of a price is a change of one line. */
export function writeSnapshot(sources: readonly PriceSource[]): void {
  const texts = sources.map(({ models, ...about }) => {
    const lines = Object.entries(models).map(([key, facts]) => `      ${JSON.stringify(key)}: ${JSON.stringify(facts)}`)
    const head = Object.entries(about).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`)
    return `  {\n${head.join('\n')}\n    "models": {\n${lines.join(',\n')}\n    }\n  }`
  })
  writeFileSync(PATH, `[\n${texts.join(',\n')}\n]\n`)
}
