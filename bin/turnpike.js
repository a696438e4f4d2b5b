#!/usr/bin/env node
// Must parse on every Node.js that people still have: what it says on an old one is its first duty.
const OLDEST_MAJOR = 24

async function main() {
  const { enableCompileCache } = await import('node:module')
  const { existsSync, readFileSync } = await import('node:fs')
  const { fileURLToPath } = await import('node:url')
  const cache = fileURLToPath(new URL('../node_modules/.cache/turnpike', import.meta.url))
  // Threads read the variable; without it each would load the TypeScript stripper, 13 MiB and 100 ms apiece.
  if (enableCompileCache?.(cache).directory !== undefined) process.env.NODE_COMPILE_CACHE ??= cache
  const { freshBundle } = await import('./bundle.js')
  const source = new URL('../src/cli/main.ts', import.meta.url)
  const built = new URL('../dist/src/cli/main.js', import.meta.url)
  const program = existsSync(source) ? (freshBundle() ?? source) : built
  const { main: runCommandLine } = await import(program.href)
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  await runCommandLine({ arguments: process.argv.slice(2), version })
}

if (Number(process.versions.node.split('.')[0]) < OLDEST_MAJOR) {
  console.error(
    [
      `turnpike: this is Node.js ${process.versions.node} (${process.execPath}), but Turnpike needs Node.js ${OLDEST_MAJOR} or newer.`,
      'In a clone: run `npm ci`, which brings the right Node.js, then `npm start`, or `npm run -s turnpike -- <command>`.',
      `Otherwise: install Node.js ${OLDEST_MAJOR} or newer from https://nodejs.org/en/download and run this again.`,
    ].join('\n'),
  )
  process.exitCode = 1
} else {
  await main()
}
