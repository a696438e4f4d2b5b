/** `turnpike agents diff`: what an agent changed; for programs as it is, for a terminal harmless and in colours. */
import { styleText } from 'node:util'
import { createClient } from './remote/client.ts'
import { plainText } from './remote/plain-text.ts'
import { note, print } from './remote/results.ts'
import { chooseTarget, type TargetOptions } from './remote/target.ts'

export async function agentsDiff(id: string, options: TargetOptions): Promise<void> {
  const { text, headers } = await createClient(await chooseTarget(options)).read(`/agents/${id}/diff`)
  await print(process.stdout.isTTY ? colouredDiff(text, process.stdout) : text)
  if (headers.get('x-turnpike-truncated') !== 'true') return
  note('The diff is too large and was cut off: this is its beginning.')
  process.exitCode = 1 // a part of a diff must not be applied as if it were all of it
}

/** @param stream Colours are for terminals. */
export function colouredDiff(diff: string, stream: NodeJS.WritableStream): string {
  let isInHunk = false
  const lines = plainText(diff).replace(/\n$/, '').split('\n')
  const shown = lines.map((line) => {
    if (line.startsWith('diff --git ')) isInHunk = false
    if (line.startsWith('@@ ')) isInHunk = true
    const style = isInHunk ? HUNK_STYLES[line.charAt(0)] : 'bold'
    return style === undefined || line === '' ? line : styleText(style, line, { stream })
  })
  return diff === '' ? '' : `${shown.join('\n')}\n`
}

const HUNK_STYLES: Readonly<Record<string, 'cyan' | 'green' | 'red' | 'dim'>> = {
  '@': 'cyan',
  '+': 'green',
  '-': 'red',
  '\\': 'dim',
}
