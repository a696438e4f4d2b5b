/** `npm run check`: runs every check of the sources in parallel. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { ROOT, WARNING } from './source-files.ts'

interface Check {
  readonly name: string
  readonly command: readonly string[]
}

const bin = (name: string): string => join(ROOT, 'node_modules', '.bin', name)
const script = (name: string, ...rest: string[]): string[] => [process.execPath, join(ROOT, 'scripts', name), ...rest]

const CHECKS: readonly Check[] = [
  { name: 'types', command: [bin('tsc'), '--noEmit', '-p', ROOT] },
  { name: 'types of the dashboard', command: [bin('tsc'), '--noEmit', '-p', join(ROOT, 'dashboard')] },
  { name: 'client of the dashboard', command: script('../dashboard/scripts/generate-client.ts', '--check') },
  { name: 'format and lint', command: [bin('biome'), 'check', '--max-diagnostics=100', ROOT] },
  { name: 'imports', command: script('check-imports.ts') },
  { name: 'house', command: script('check-house.ts') },
  { name: 'dashboard', command: script('check-dashboard.ts') },
  { name: 'language', command: script('check-language.ts') },
  { name: 'repository', command: script('check-repository.ts') },
  { name: 'documentation', command: script('generate-docs.ts', '--check') },
  { name: 'limits', command: script('check-limits.ts') },
]

/** Warnings that are printed for a check that passes. */
const SHOWN_WARNINGS = 3

interface Outcome {
  readonly passed: boolean
  readonly output: string
}

function run({ command }: Check): Promise<Outcome> {
  const [program = '', ...rest] = command
  return new Promise((resolve) => {
    const child = spawn(program, rest, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const gather = (piece: Buffer): void => {
      output += piece.toString()
    }
    child.stdout.on('data', gather)
    child.stderr.on('data', gather)
    child.on('error', (error) => resolve({ passed: false, output: error.message }))
    child.on('close', (code) => resolve({ passed: code === 0, output }))
  })
}

async function runAndPrint(check: Check): Promise<boolean> {
  const { passed, output } = await run(check)
  console.log(passed ? `${styleText('green', '✔')} ${check.name}` : `${styleText('red', '✖')} ${check.name}`)
  if (passed) printWarnings(output)
  else console.log(output.trimEnd().replace(/^/gm, '  '))
  return passed
}

/** Prints a few warnings of a check that passed; the check itself prints all of them. */
function printWarnings(output: string): void {
  const warnings = output.split('\n').filter((line) => line.startsWith(WARNING))
  for (const line of warnings.slice(0, SHOWN_WARNINGS)) console.log(`  ${styleText('yellow', line)}`)
  const more = warnings.length - SHOWN_WARNINGS
  if (more > 0) console.log(`  and ${more} more warnings`)
}

const outcomes = await Promise.all(CHECKS.map(runAndPrint))
const passed = outcomes.filter(Boolean).length
console.log(`checks: ${passed} passed, ${outcomes.length - passed} failed`)
process.exitCode = passed === outcomes.length ? 0 : 1
