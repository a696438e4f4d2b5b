/** A process that runs one command in a sandbox, for tests that start it, and kill it. Arguments: workspace, script. */

import { makeWorkspace } from '../../../src/runner/sandbox/folders.ts'
import { createSandbox } from '../../../src/runner/sandbox/sandbox.ts'
import { SMALL } from './sandbox-kit.ts'

const [, , workspace = '', script = ''] = process.argv
makeWorkspace(workspace)
const sandbox = createSandbox({ backend: 'bubblewrap', workspace, limits: SMALL })
const result = await sandbox.run({ run: { script } }, new AbortController().signal)
console.log(`${result.stdout}${result.stderr}ended`)
