/** `npm run check`: everything that can be known without running the product, side by side. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { ROOT } from './source-files.ts'

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
  { name: 'repository', command: script('check-repository.ts') },
  { name: 'documentation', command: script('generate-docs.ts', '--check') },
  { name: 'limits', command: script('check-limits.ts') },
]

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
  if (!passed) console.log(output.trimEnd().replace(/^/gm, '  '))
  return passed
}

const outcomes = await Promise.all(CHECKS.map(runAndPrint))
const passed = outcomes.filter(Boolean).length
console.log(`checks: ${passed} passed, ${outcomes.length - passed} failed`)
process.exitCode = passed === outcomes.length ? 0 : 1
