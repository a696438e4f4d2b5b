/**
 * `npm run build:python-client -- FOLDER`: writes the Python package `turnpike-client`, generated from the description that
 * the gateway itself serves, with what `packages/python-client` adds to it.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { openApp } from '../test/support/browser/signed-in.ts'
import { pythonWith } from '../test/support/process/python-environment.ts'
import { ROOT } from './source-files.ts'

/** The generator, what the package needs at run time, and what builds and installs a wheel of it. */
export const PYTHON_CLIENT_TOOLS = [
  'openapi-python-client==0.29.1',
  'httpx-sse==0.4.3',
  'setuptools==84.2.1',
  'pip==26.3',
] as const
const SOURCE = join(ROOT, 'packages/python-client')
const TIMEOUT_MS = 300_000

/**
 * @param document The OpenAPI description.
 * @param folder Is created, with `turnpike_client/` and the files that pip needs.
 */
export async function buildPythonClient(document: object, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const file of ['LICENSE', 'README.md', 'pyproject.toml']) await cp(join(SOURCE, file), join(folder, file))
  const description = join(folder, 'openapi.json')
  await writeFile(description, JSON.stringify(document))
  const python = await pythonWith(PYTHON_CLIENT_TOOLS)
  const output = join(folder, 'turnpike_client')
  const files = ['--path', description, '--output-path', output, '--config', join(SOURCE, 'generator.yaml')]
  const options = ['-m', 'openapi_python_client', 'generate', '--meta', 'none', '--overwrite', '--fail-on-warning']
  await promisify(execFile)(python, [...options, ...files], { timeout: TIMEOUT_MS })
  await cp(join(SOURCE, 'streaming.py'), join(output, 'streaming.py'))
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) throw new Error('Name the folder to write: npm run build:python-client -- FOLDER')
  const ends: (() => unknown)[] = []
  const { ask } = await openApp({ after: (end: () => unknown) => void ends.push(end) })
  const document = (await ask('GET', '/openapi.json')).json<object>()
  for (const end of ends) await end()
  await buildPythonClient(document, resolve(folder))
  console.log(`Written: pip install ${folder}`)
}
