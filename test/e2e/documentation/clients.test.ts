/**
 * The samples and settings of docs/clients, as they are pasted: every SDK of a language in one process, and the programs
 * that read a file. All of them call one gateway. Runs on one database: it is about what is written.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { getJson } from '../../support/client.ts'
import { model, startGateway } from '../../support/gateway.ts'
import { documentedBlocks } from '../../support/http/documentation.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { npmClient } from '../../support/process/npm-client.ts'
import { CLIENT_PACKAGES, LLAMAINDEX_PACKAGES, pythonWith } from '../../support/process/python-environment.ts'
import { bodyOf } from '../../support/providers/answers.ts'
import { startFakeProvider } from '../../support/providers/fake-provider.ts'

const VECTOR = [0.25, -0.5, 0.125]
const vectors = await startFakeProvider((call, reply) => {
  const { input } = bodyOf(call) as unknown as { readonly input: readonly string[] }
  const data = input.map((_, index) => ({ object: 'embedding', index, embedding: VECTOR }))
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify({ object: 'list', model: 'm', data, usage: { prompt_tokens: 2, total_tokens: 2 } }))
})
const EMBEDDING = 'text-embedding-3-small'
const gateway = await startGateway({
  config: {
    providers: {
      simulator: { protocol: 'simulator', zdr: true },
      vectors: { protocol: 'openai', base_url: vectors.url },
    },
    models: [
      ...['gpt-5.2', 'claude-sonnet-4-6'].map((id) => model(id, 'simulator', 'turnpike-simulator')),
      { ...model(EMBEDDING, 'vectors', EMBEDDING), kind: 'embedding', capabilities: undefined },
    ],
  },
})
const key = await gateway.key()
const reader = makeReader({ gateway, key })
after(async () => {
  reader.remove()
  await gateway.stop()
  await vectors.close()
})

/** @returns how many requests the gateway has answered. */
async function requests(): Promise<number> {
  const usage = await getJson<{ readonly total_requests: number }>(gateway, key, '/v1/usage')
  return usage.total_requests
}

interface Language {
  readonly extension: string
  /** Runs the files in its arguments one after the other, each after a line with its name. */
  readonly driver: string
}

const JS: Language = {
  extension: 'mjs',
  driver: `for (const file of process.argv.slice(2)) {
  console.log('--- ' + file)
  await import(file)
}
`,
}
const PYTHON: Language = {
  extension: 'py',
  driver: `import runpy, sys
for file in sys.argv[1:]:
    print("---", file, flush=True)
    runpy.run_path(file, run_name="__main__")
`,
}

interface Samples {
  readonly language: 'js' | 'python'
  readonly pages: readonly string[]
  readonly program: string
}

/** Runs all samples of the pages in one process: each must print an answer, for which it made one request. */
async function runSamples({ language, pages, program }: Samples): Promise<void> {
  const { extension, driver } = language === 'js' ? JS : PYTHON
  const folder = join(reader.folder, language)
  mkdirSync(folder, { recursive: true })
  const samples = documentedBlocks().filter((block) => block.language === language && pages.includes(block.file))
  for (const page of pages)
    assert.ok(
      samples.some(({ file }) => file === page),
      `${page} has no sample`,
    )
  const files = samples.map(({ file, line, text }) => {
    const path = join(folder, `${file.replaceAll(/\W/g, '-')}-${line}.${extension}`)
    writeFileSync(path, reader.own(text))
    return path
  })
  const start = join(folder, `all.${extension}`)
  writeFileSync(start, driver)
  const before = await requests()
  const { code, output } = await reader.run(program, [start, ...files])
  assert.equal(code, 0, output)
  for (const [index, file] of files.entries()) {
    const printed = output.split(`--- ${file}\n`)[1]?.split('\n--- ')[0]?.trim()
    assert.ok(printed, `${samples[index]?.file}:${samples[index]?.line} prints no answer: ${output}`)
  }
  assert.equal((await requests()) - before, files.length, output)
}

const JS_PAGES = [
  'docs/clients/ai-sdk.md',
  'docs/clients/anthropic-sdks.md',
  'docs/clients/langchain.md',
  'docs/clients/openai-sdks.md',
  'docs/clients/openrouter.md',
]
/** What is not among the dependencies of the project. */
const JS_PACKAGES = {
  '@ai-sdk/anthropic': '4.0.105',
  '@ai-sdk/openai': '4.0.118',
  '@openrouter/sdk': '1.3.19',
} as const

for (const [name, program] of Object.entries({ bundled: process.execPath, machine: 'node' })) {
  test(`docs/clients: every JavaScript sample prints an answer on the ${name} Node.js`, async () => {
    for (const [package_, version] of Object.entries(JS_PACKAGES)) {
      const link = join(reader.folder, 'js', 'node_modules', package_)
      mkdirSync(dirname(link), { recursive: true })
      const installed = join(await npmClient(`${package_}@${version}`), 'node_modules', package_)
      if (name === 'bundled') symlinkSync(installed, link)
    }
    await runSamples({ language: 'js', pages: JS_PAGES, program })
  })
}

test('docs/clients: every Python sample prints an answer', async () => {
  await runSamples({
    language: 'python',
    pages: [
      'docs/clients/anthropic-sdks.md',
      'docs/clients/langchain.md',
      'docs/clients/openai-sdks.md',
      'docs/clients/pydantic-ai.md',
    ],
    program: await pythonWith(CLIENT_PACKAGES),
  })
})

test('docs/clients/llamaindex.md: the sample prints an answer, in an environment of its own', async () => {
  const program = await pythonWith(LLAMAINDEX_PACKAGES)
  await runSamples({ language: 'python', pages: ['docs/clients/llamaindex.md'], program })
})

/** Makes a program known by its name. */
function install(name: string, command: string): void {
  const file = join(reader.folder, 'bin', name)
  writeFileSync(file, `#!/bin/sh\nexec ${command} "$@"\n`)
  chmodSync(file, 0o755)
}

test('docs/clients/llm.md: llm reads the settings and answers', async () => {
  install('llm', `'${await pythonWith(CLIENT_PACKAGES)}' -m llm`)
  const page = 'docs/clients/llm.md'
  const settings = `folder=$(dirname "$(llm logs path)")
    mkdir -p "$folder"
    cat > "$folder/extra-openai-models.yaml" <<'END'\n${blockOf(page, '- model_id').text}\nEND\n`
  const before = await requests()
  // The first command asks for the key.
  const commands = reader.start(`${settings}${blockOf(page, 'llm keys').text}`, {}, `${key}\n`)
  try {
    assert.equal(await commands.exited, 0, commands.output())
  } finally {
    await commands.stop('SIGKILL')
  }
  assert.equal((await requests()) - before, 1, commands.output())
})

test('docs/clients/continue.md: Continue reads the settings and answers', async () => {
  const folder = await npmClient('@continuedev/cli@1.5.47')
  const settings = blockOf('docs/clients/continue.md', 'name: Turnpike').text
  mkdirSync(join(reader.folder, '.continue'))
  writeFileSync(join(reader.folder, '.continue', 'config.yaml'), reader.own(settings))
  const before = await requests()
  const client = `${join(folder, 'node_modules', '.bin', 'cn')} --config "$HOME/.continue/config.yaml" -p Hello!`
  const { code, output } = await reader.sh(client, { CONTINUE_TELEMETRY_ENABLED: '0' })
  assert.equal(code, 0, output)
  assert.ok((await requests()) > before, output)
})
