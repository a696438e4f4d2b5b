/**
 * `npm run generate:client`: the types of the API, from the description that the gateway itself serves.
 * With `--check` nothing is written: it fails when the file is not what would be.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import { openApp } from '../../test/support/browser/signed-in.ts'

const FILE = join(import.meta.dirname, '..', 'src', 'api', 'schema.d.ts')
const HEAD = '// Made by `npm run generate:client` from /openapi.json; not to be changed by hand.\n\n'

const ends: (() => unknown)[] = []
const { ask } = await openApp({ after: (end: () => unknown) => void ends.push(end) })
const document = (await ask('GET', '/openapi.json')).json<object>()
for (const end of ends) await end()

const made = HEAD + withoutEmpty(astToString(await openapiTS(JSON.stringify(document))))
if (process.argv.includes('--check')) {
  const there = await readFile(FILE, 'utf8').catch(() => '')
  if (there !== made) {
    console.log('dashboard/src/api/schema.d.ts does not fit the API: run `npm run generate:client`.')
    process.exitCode = 1
  }
} else {
  await writeFile(FILE, made)
  console.log(`${made.length} characters to dashboard/src/api/schema.d.ts`)
}

/** Leaves out what says that something is absent: methods, parameters and bodies of type `never`, and headers of any name. */
function withoutEmpty(types: string): string {
  return types
    .replace(/^ +\w+\?: never;\n/gm, '')
    .replace(/^ +headers: \{\n +\[name: string\]: unknown;\n +\};\n/gm, '')
    .replace(/^ +parameters: \{\n +\};\n/gm, '')
}
