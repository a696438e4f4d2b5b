/**
 * The commands of docs/deploy. Those of systemd run in a file system of their own, with the real `systemctl` and
 * `systemd-analyze`. No image can be built and no cluster be started here: `docker`, `kubectl` and `helm` are replaced by
 * programs that note how they are called and run what is to run inside; the rest is compared with `Dockerfile`, the
 * compose files and the chart. Runs on one database.
 */
import assert from 'node:assert/strict'
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { builtIn } from '../../../src/cli/configuration.ts'
import { buildProgram } from '../../../src/cli/program.ts'
import { SETTING_VARIABLES } from '../../../src/config/environment.ts'
import { checkText } from '../../../src/config/load.ts'
import { SERVER_SCHEMA } from '../../../src/config/service-schemas.ts'
import { send } from '../../support/client.ts'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader, ROOT } from '../../support/http/reader.ts'

const DOCKER = 'docs/deploy/docker.md'
const KUBERNETES = 'docs/deploy/kubernetes.md'
const SYSTEMD = 'docs/deploy/systemd.md'

const gateway = await startGateway()
const reader = makeReader({ gateway, key: await gateway.key() })
after(async () => {
  reader.remove()
  await gateway.stop()
})

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const DRAIN_MS = Number((SERVER_SCHEMA.properties.drain_ms as { readonly default?: unknown }).default)
const isRead = (name: string): boolean => SETTING_VARIABLES.has(name) || name in builtIn().providerVariables

/** Makes a program that comes before those of the machine. @param script Of shell. */
function shim(folder: string, name: string, script: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
}

/** The words of a command, which has no quotes with blanks in them but for those around one word. */
function wordsOf(command: string): readonly string[] {
  return [...command.replaceAll('\\\n', ' ').matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain = '']) => quoted ?? plain,
  )
}

/** The values of an option, `--name value` or `--name=value`. */
function valuesOf(words: readonly string[], name: string): readonly string[] {
  return words.flatMap((word, at) => {
    if (word === `--${name}`) return [words[at + 1] ?? '']
    return word.startsWith(`--${name}=`) ? [word.slice(name.length + 3)] : []
  })
}

/** Fails unless the command line accepts these words. */
async function accepts(words: readonly string[]): Promise<void> {
  const program = buildProgram('0.0.0', (message) => assert.fail(`${words.join(' ')}: ${message}`))
  const command = program.commands.find((each) => each.name() === words[0]) ?? assert.fail(words[0])
  let isCalled = false
  command.action(() => {
    isCalled = true
  })
  await program.parseAsync([...words], { from: 'user' })
  assert.ok(isCalled)
}

// --- systemd

test(`${SYSTEMD}: the commands install, verify and enable the unit`, async () => {
  const analyze = findTool('systemd')
  const bin = join(reader.folder, 'systemd', 'bin')
  const etc = join(reader.folder, 'systemd', 'etc')
  mkdirSync(join(etc, 'systemd', 'system'), { recursive: true })
  symlinkSync(ROOT, join(reader.folder, 'turnpike'))
  shim(bin, 'sudo', 'exec "$@"')
  shim(bin, 'npm', `test "$*" = 'install --global turnpike'`)
  // There is no systemd that could start it; what it would read is verified.
  const systemctl = join(dirname(analyze), 'systemctl')
  shim(bin, 'systemctl', `SYSTEMD_OFFLINE=1 exec ${systemctl} $(echo "$@" | sed 's/ --now//')`)
  const block = join(reader.folder, 'systemd', 'block.sh')
  writeFileSync(block, blockOf(SYSTEMD, 'sudo npm').text)
  const sandbox = ['--ro-bind', '/', '/', '--dev', '/dev', '--bind', etc, '/etc', '--chdir', reader.folder]
  const PATH = `${bin}:${reader.environment()['PATH']}`
  const { code, output } = await reader.run(findTool('bubblewrap'), [...sandbox, 'sh', '-e', block], { PATH })
  assert.equal(code, 0, output)
  const unit = join(etc, 'systemd', 'system', basename(UNIT))
  const verified = await reader.run(analyze, ['verify', unit])
  assert.equal(verified.code, 0, verified.output)
  assert.doesNotMatch(verified.output, /turnpike\.service/, 'without a warning')
  assert.equal(readFileSync(unit, 'utf8'), textOf(UNIT))
  const modeOf = (path: string) => (statSync(join(etc, path)).mode & 0o777).toString(8)
  assert.deepEqual([modeOf('turnpike'), modeOf('turnpike/turnpike.env')], ['755', '600'])
  assert.match(output, /multi-user\.target\.wants\/turnpike\.service/, 'it is enabled')
})

const UNIT = 'deploy/systemd/turnpike.service'

test(`${SYSTEMD}: a command has the user, data and settings of the unit`, async () => {
  const unit = textOf(UNIT)
  const words = wordsOf(blockOf(SYSTEMD, 'sudo systemd-run').text)
  const properties = valuesOf(words, 'property').filter((property) => property !== `User=${basename(UNIT, '.service')}`)
  properties.push(...valuesOf(words, 'working-directory').map((folder) => `WorkingDirectory=${folder}`))
  assert.equal(properties.length, 4)
  for (const property of properties) assert.ok(unit.includes(`\n${property}\n`), `${UNIT} has no ${property}`)
  const [, environment = ''] = /^Environment=(.*)$/m.exec(unit) ?? []
  for (const variable of valuesOf(words, 'setenv')) assert.ok(environment.split(' ').includes(variable), variable)
  const command = words.slice(words.indexOf('turnpike'))
  const { code, output } = await reader.run('turnpike', command.slice(1))
  assert.equal(code, 0, output)
  assert.match(output, /tp_/)
})

// --- containers

const DOCKERFILE = textOf('Dockerfile')

/** What the image states, such as `EXPOSE`. */
const stated = (instruction: string): readonly string[] =>
  [...DOCKERFILE.matchAll(new RegExp(`^${instruction} (.*)$`, 'gm'))].map(([, text = '']) => text)

test(`${DOCKER}: the container gets the volume, the port and the time that the image needs`, () => {
  const [build = '', run = ''] = blockOf(DOCKER, 'docker build').text.split(/\n(?! )/)
  assert.match(build, /^docker build --tag turnpike \.$/, 'where the Dockerfile is')
  const words = wordsOf(run)
  assert.equal(words.at(-1), valuesOf(wordsOf(build), 'tag')[0], 'the image that was built')
  assert.deepEqual(
    valuesOf(words, 'volume').map((volume) => volume.split(':')[1]),
    stated('VOLUME'),
  )
  assert.deepEqual(
    valuesOf(words, 'publish').map((port) => port.split(':').at(-1)),
    stated('EXPOSE'),
  )
  assert.ok(Number(valuesOf(words, 'stop-timeout')[0]) * 1000 > DRAIN_MS)
  const page = textOf(DOCKER)
  for (const [, stage = ''] of page.matchAll(/--target (\w+)/g))
    assert.match(DOCKERFILE, new RegExp(`^FROM .* AS ${stage}$`, 'm'))
  for (const [, name = ''] of page.matchAll(/--build-arg (\w+)/g))
    assert.match(DOCKERFILE, new RegExp(`^ARG ${name}=`, 'm'))
  assert.ok(page.includes(`| user | ${stated('USER').at(-1)}, never root |`))
  assert.ok(stated('WORKDIR').some((folder) => page.includes(`\`${folder}/turnpike.yaml\``)))
})

test(`${DOCKER}: the commands run, as in the container`, async () => {
  shim(join(reader.folder, 'bin'), 'docker', `test "$1 $2" = 'exec turnpike' || exit 64\nshift 2\nexec "$@"`)
  const { code, output } = await reader.sh(blockOf(DOCKER, 'docker exec').text)
  assert.equal(code, 0, output)
  assert.match(output, /tp_[\s\S]*database/i)
})

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { readonly command?: readonly string[]; readonly ports?: readonly string[]; readonly build?: string }
    >
  >
}

test(`${DOCKER}: the compose files are started with every variable that they require`, async () => {
  const folder = join(reader.folder, 'deploy', 'compose')
  cpSync(join(ROOT, 'deploy', 'compose'), folder, { recursive: true })
  shim(join(reader.folder, 'bin'), 'docker', `pwd; echo "docker $*"`)
  const { code, output } = await reader.sh(blockOf(DOCKER, 'cd deploy/compose').text)
  assert.equal(code, 0, output)
  assert.ok(output.startsWith(`${folder}\ndocker compose up --detach --build\n`), output)
  const text = textOf('deploy/compose/compose.yaml')
  const required = new Set([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name))
  const set = readFileSync(join(folder, '.env'), 'utf8').matchAll(/^(\w+)=([0-9a-f]{64})$/gm)
  assert.deepEqual(new Set([...set].map(([, name]) => name)), required)
  const { services } = parse(text) as Compose
  const { build = '', command = [], ports = [] } = services['turnpike'] ?? {}
  assert.equal(join(ROOT, 'deploy/compose', build), join(ROOT), 'where the Dockerfile is')
  await accepts(command)
  assert.deepEqual(
    ports.map((port) => port.split(':').at(-1)),
    stated('EXPOSE'),
  )
  const [logs = ''] = /docker compose logs (\w+)/.exec(output)?.slice(1) ?? []
  assert.ok(logs in services, output)
  const [, optional = ''] = /`\.env` also takes (.*) and keys of providers/.exec(textOf(DOCKER)) ?? []
  const names = [...optional.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(names, ['TURNPIKE_PORT', 'TURNPIKE_PUBLIC_URL'])
  for (const name of names) assert.ok(text.includes(`\${${name}:-`), name)
})

// --- Kubernetes

const CHART = 'deploy/helm/turnpike'
type Values = Readonly<Record<string, unknown>> & { readonly config: { readonly server: object } }

test(`${KUBERNETES}: the secret has what the gateway reads, the chart is installed, and the command runs`, async () => {
  const bin = join(reader.folder, 'bin')
  const inside = `case "$*" in *' exec '*) while [ "$1" != -- ]; do shift; done; shift; exec "$@";; esac`
  shim(bin, 'kubectl', `for word; do printf '%s\\n' "$word"; done\n${inside}`)
  shim(bin, 'helm', `for word; do printf '%s\\n' "$word"; done`)
  const { code, output } = await reader.sh(blockOf(KUBERNETES, 'kubectl create').text)
  assert.equal(code, 0, output)
  assert.match(output, /tp_/)
  const variables = [...output.matchAll(/^--from-literal=(\w+)=/gm)].map(([, name = '']) => name)
  assert.ok(variables.length >= 4)
  assert.deepEqual(
    variables.filter((name) => !isRead(name)),
    [],
  )
  const [, secret] = /^secret\ngeneric\n(.*)$/m.exec(output) ?? []
  const values = parse(blockOf(KUBERNETES, '# values.yaml').text) as { readonly secret: { readonly name: string } }
  assert.equal(values.secret.name, secret)
  const [, release = '', chart] = /^install\n(.*)\n(.*)$/m.exec(output) ?? []
  assert.equal(chart, CHART)
  const { name } = parse(textOf(`${CHART}/Chart.yaml`)) as { readonly name: string }
  assert.equal(release, name, 'a release with the name of the chart is the prefix of its objects')
  assert.match(textOf(`${CHART}/templates/api.yaml`), /^ {2}name: \{\{ include "turnpike.fullname" \. \}\}-api$/m)
  assert.match(output, /^deploy\/turnpike-api$/m)
  const namespaces = new Set(
    [...output.matchAll(/^(?:--namespace|create\nnamespace)\n(.*)$/gm)].map(([, each]) => each),
  )
  assert.deepEqual([...namespaces], ['ai'])
})

test(`${KUBERNETES}: the values are in the chart's schema, and their configuration passes config check`, async () => {
  const base = parse(textOf(`${CHART}/values.yaml`)) as Values
  const own = parse(blockOf(KUBERNETES, '# values.yaml').text) as Values
  const merged = { ...base, ...own, config: { ...own.config, server: { ...base.config.server, ...own.config.server } } }
  for (const [name, value] of Object.entries(own)) {
    const known = base[name] as object
    assert.ok(known, `values.yaml has no ${name}`)
    if (name !== 'config') for (const field of Object.keys(value as object)) assert.ok(field in known, field)
  }
  const fastify = createRequire(createRequire(import.meta.url).resolve('@fastify/ajv-compiler'))
  const { default: Ajv } = fastify('ajv') as { default: new (options: object) => AjvLike }
  const ajv = new Ajv({ strict: false, allErrors: true })
  const schema = JSON.parse(textOf(`${CHART}/values.schema.json`)) as object
  assert.ok(ajv.validate(schema, merged), JSON.stringify(ajv.errors))
  assert.deepEqual(await checkText(stringify(merged.config), { env: {}, builtIn: builtIn() }), [])
})

interface AjvLike {
  readonly errors?: unknown
  validate(schema: object, data: unknown): boolean
}

test(`${KUBERNETES}: prometheus-adapter and the autoscaler name a metric that the gateway has`, async () => {
  const { rules } = parse(blockOf(KUBERNETES, 'rules:').text) as { readonly rules: readonly { seriesQuery: string }[] }
  const { text } = await send(gateway, '/metrics')
  assert.equal(rules.length, 1)
  const [metric = ''] = /^\w+/.exec(rules[0]?.seriesQuery ?? '') ?? []
  assert.match(text, new RegExp(`^# TYPE ${metric} gauge$`, 'm'))
  assert.ok(textOf(`${CHART}/templates/api.yaml`).includes(metric))
})
